import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Writes a tokenizer in Hugging Face's format in which each byte is a token: made up, so that AIPerf needs no download.
 * Bytes have the printable names that GPT-2's byte-level BPE gives them.
 */
export function writeByteTokenizer(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const vocab = Object.fromEntries(byteNames().map((name, byte) => [name, byte]));
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true };
  const tokenizer = {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: { ...byteLevel, use_regex: false },
    post_processor: null,
    decoder: { ...byteLevel, use_regex: false },
    model: { type: 'BPE', unk_token: null, vocab, merges: [] },
  };
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer));
  const config = { tokenizer_class: 'PreTrainedTokenizerFast', model_max_length: 4096 };
  writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify(config));
}

function byteNames(): string[] {
  let unprintable = 256;
  return Array.from({ length: 256 }, (_, byte) => {
    const isPrintable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
    if (isPrintable) return String.fromCodePoint(byte);
    unprintable += 1;
    return String.fromCodePoint(unprintable - 1);
  });
}
