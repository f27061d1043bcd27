import { bytesField, model, numberField, type Piece, textField, toBytes, valueInfo } from './onnx-writer.ts';

const [FLOAT16, INT64] = [10, 7];

/** A graph under construction, with the names that the recorded networks have; weights have shapes and no values. */
class Net {
  private readonly pieces: Piece[] = [];

  /** @returns the name of its output */
  op(
    opType: string,
    inputs: readonly string[],
    name: string,
    attributes: Record<string, number | number[]> = {},
  ): string {
    const output = `${name}_out`;
    const fields = Object.entries(attributes).flatMap(([key, value]) =>
      bytesField(
        5,
        ...textField(1, key),
        ...(Array.isArray(value) ? value.flatMap((one) => numberField(8, one)) : numberField(3, value)),
      ),
    );
    const names = [...inputs.flatMap((input) => textField(1, input)), ...textField(2, output)];
    this.pieces.push(...bytesField(1, ...names, ...textField(3, name), ...textField(4, opType), ...fields));
    return output;
  }

  weights(name: string, ...shape: number[]): string {
    const dims = shape.flatMap((size) => numberField(1, size));
    this.pieces.push(...bytesField(5, ...dims, ...numberField(2, FLOAT16), ...textField(8, name)));
    return name;
  }

  ints(name: string, ...values: number[]): string {
    const data = values.flatMap((value) => numberField(7, value));
    this.pieces.push(
      ...bytesField(5, ...numberField(1, values.length), ...numberField(2, INT64), ...data, ...textField(8, name)),
    );
    return name;
  }

  place(name: string, value: number): string {
    this.pieces.push(...bytesField(5, ...numberField(2, INT64), ...numberField(7, value), ...textField(8, name)));
    return name;
  }

  conv(
    x: string,
    from: number,
    to: number,
    size: number,
    stride: number,
    name: string,
    pad = Math.floor(size / 2),
  ): string {
    const weights = [this.weights(`${name}.weight`, to, from, size, size), this.weights(`${name}.bias`, to)];
    const attributes = { kernel_shape: [size, size], strides: [stride, stride], pads: [pad, pad, pad, pad] };
    return this.op('Conv', [x, ...weights], `${name}/Conv`, attributes);
  }

  linear(x: string, from: number, to: number, name: string): string {
    const product = this.op('MatMul', [x, this.weights(`${name}.weight`, from, to)], `${name}/MatMul`);
    return this.op('Add', [product, this.weights(`${name}.bias`, to)], `${name}/Add`);
  }

  finish(last: string, shape: readonly number[], classes: number): Uint8Array {
    const ends = [...valueInfo(11, 'input', ['batch', ...shape]), ...valueInfo(12, last, ['batch', classes])];
    return toBytes(model(19, ...this.pieces, ...ends));
  }
}

interface ResNet {
  readonly blocks: readonly number[];
  /** Of three convolutions, as from ResNet-50 on: the stride is in the second, as in torchvision. */
  readonly isBottleneck?: boolean;
  readonly image?: number;
}

export function resnet({ blocks, isBottleneck = false, image = 224 }: ResNet): Uint8Array {
  const net = new Net();
  let x = net.op('Relu', [net.conv('input', 3, 64, 7, 2, 'stem')], 'stem/Relu');
  x = net.op('MaxPool', [x], 'stem/MaxPool', { kernel_shape: [3, 3], strides: [2, 2], pads: [1, 1, 1, 1] });
  let from = 64;
  for (const [stage, count] of blocks.entries()) {
    const width = 64 * 2 ** stage;
    const to = isBottleneck ? 4 * width : width;
    for (let place = 0; place < count; place += 1) {
      const [name, stride] = [`layer${stage}.${place}`, stage > 0 && place === 0 ? 2 : 1];
      let y = x;
      if (isBottleneck) {
        y = net.op('Relu', [net.conv(y, from, width, 1, 1, `${name}.conv1`)], `${name}/Relu1`);
        y = net.op('Relu', [net.conv(y, width, width, 3, stride, `${name}.conv2`)], `${name}/Relu2`);
        y = net.conv(y, width, to, 1, 1, `${name}.conv3`);
      } else {
        y = net.op('Relu', [net.conv(y, from, to, 3, stride, `${name}.conv1`)], `${name}/Relu1`);
        y = net.conv(y, to, to, 3, 1, `${name}.conv2`);
      }
      if (stride !== 1 || from !== to) x = net.conv(x, from, to, 1, stride, `${name}.down`, 0);
      x = net.op('Relu', [net.op('Add', [y, x], `${name}/Add`)], `${name}/Relu${isBottleneck ? 3 : 2}`);
      from = to;
    }
  }
  x = net.op('Flatten', [net.op('GlobalAveragePool', [x], 'head/Pool')], 'head/Flatten', { axis: 1 });
  const weights = [net.weights('head.fc.weight', 1000, from), net.weights('head.fc.bias', 1000)];
  return net.finish(net.op('Gemm', [x, ...weights], 'head.fc/Gemm', { transB: 1 }), [3, image, image], 1000);
}

interface Vit {
  readonly dim: number;
  readonly heads: number;
  readonly depth: number;
  readonly image?: number;
  readonly patch?: number;
}

/** GELU in its erf form, as exporters write it below opset 20. */
export function vit({ dim, heads, depth, image = 224, patch = 16 }: Vit): Uint8Array {
  const net = new Net();
  const [tokens, head, hidden] = [(image / patch) ** 2, dim / heads, 4 * dim];
  let x = net.conv('input', 3, dim, patch, patch, 'patch_embed', 0);
  x = net.op('Reshape', [x, net.ints('shape_tokens', 0, dim, tokens)], 'patch_embed/Reshape');
  x = net.op('Transpose', [x], 'patch_embed/Transpose', { perm: [0, 2, 1] });
  const batch = net.op('Shape', [x], 'cls/Shape', { start: 0, end: 1 });
  const want = net.op('Concat', [batch, net.ints('shape_cls', 1, dim)], 'cls/Concat', { axis: 0 });
  const cls = net.op('Expand', [net.weights('cls_token', 1, 1, dim), want], 'cls/Expand');
  x = net.op('Concat', [cls, x], 'embed/Concat', { axis: 1 });
  const n = tokens + 1;
  x = net.op('Add', [x, net.weights('pos_embed', 1, n, dim)], 'embed/AddPos');
  const scalar = (name: string): string => net.weights(name);
  const norm = (of: string, name: string): string => {
    const weights = [net.weights(`${name}.weight`, dim), net.weights(`${name}.bias`, dim)];
    return net.op('LayerNormalization', [of, ...weights], `${name}/LayerNorm`, { axis: -1 });
  };
  for (let block = 0; block < depth; block += 1) {
    const b = `blocks.${block}`;
    let h = net.linear(norm(x, `${b}.norm1`), dim, 3 * dim, `${b}.attn.qkv`);
    h = net.op('Reshape', [h, net.ints('shape_qkv', 0, n, 3, heads, head)], `${b}.attn/Reshape`);
    h = net.op('Transpose', [h], `${b}.attn/Transpose`, { perm: [2, 0, 3, 1, 4] });
    const pick = (name: string, place: number): string =>
      net.op('Gather', [h, net.place(`pick${place}`, place)], `${b}.attn/${name}`, { axis: 0 });
    const [q, k, v] = [pick('q', 0), pick('k', 1), pick('v', 2)];
    const transposed = net.op('Transpose', [k], `${b}.attn/KT`, { perm: [0, 1, 3, 2] });
    const scaled = net.op('Mul', [q, scalar('attn_scale')], `${b}.attn/Scale`);
    const weights = net.op('MatMul', [scaled, transposed], `${b}.attn/QK`);
    h = net.op('MatMul', [net.op('Softmax', [weights], `${b}.attn/Softmax`, { axis: -1 }), v], `${b}.attn/AV`);
    h = net.op('Transpose', [h], `${b}.attn/Merge`, { perm: [0, 2, 1, 3] });
    h = net.op('Reshape', [h, net.ints('shape_merge', 0, n, dim)], `${b}.attn/MergeReshape`);
    x = net.op('Add', [x, net.linear(h, dim, dim, `${b}.attn.proj`)], `${b}/Add1`);
    h = net.linear(norm(x, `${b}.norm2`), dim, hidden, `${b}.mlp.fc1`);
    const e = net.op('Erf', [net.op('Div', [h, scalar('sqrt2')], `${b}.mlp/Gelu/Div`)], `${b}.mlp/Gelu/Erf`);
    h = net.op('Mul', [h, net.op('Add', [e, scalar('one')], `${b}.mlp/Gelu/AddOne`)], `${b}.mlp/Gelu/Mul`);
    h = net.op('Mul', [h, scalar('half')], `${b}.mlp/Gelu/Half`);
    x = net.op('Add', [x, net.linear(h, hidden, dim, `${b}.mlp.fc2`)], `${b}/Add2`);
  }
  x = net.op('Gather', [norm(x, 'norm'), net.place('pick0', 0)], 'head/Cls', { axis: 1 });
  const weights = [net.weights('head.fc.weight', 1000, dim), net.weights('head.fc.bias', 1000)];
  return net.finish(net.op('Gemm', [x, ...weights], 'head.fc/Gemm', { transB: 1 }), [3, image, image], 1000);
}
