import { byId, element } from './dom.ts';

const EVERY_MS = 15_000;

/** A served report announces new data in the store; it never changes by itself. */
export function watchStore(version: string): void {
  if (version === '') return;
  const ask = async (): Promise<void> => {
    const newest = await versionNow();
    if (newest === null || newest === version) {
      setTimeout(() => void ask(), EVERY_MS);
      return;
    }
    const button = element('button', { type: 'button' }, 'The store has something new: show it');
    button.addEventListener('click', () => location.reload());
    byId('said')?.after(element('div', { class: 'news', role: 'status' }, button));
  };
  setTimeout(() => void ask(), EVERY_MS);
}

async function versionNow(): Promise<string | null> {
  try {
    const answer = await fetch('/version', { cache: 'no-store' });
    return answer.ok ? (await answer.text()).trim() : null;
  } catch {
    return null;
  }
}
