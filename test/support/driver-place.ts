import type { DrivenCell, Driver, DriverPlace } from '../../src/harnesses/driver.ts';

/** A matrix in `/m`; the hashes of its files by path, none for one that is not there. */
export function placeWith(hashes: Readonly<Record<string, string>>): DriverPlace {
  return {
    model: 'llama',
    parameters: {},
    resolve: (path) => (path.startsWith('/') ? path : `/m/${path.replace(/^\.\//, '')}`),
    sha256Of: (path) => hashes[path] ?? null,
  };
}

/** What a driver reads of these files. */
export const readingOf = (driver: Driver, settings: unknown, files: Readonly<Record<string, string | null>>) =>
  driver.read(settings, { text: (name) => files[name] ?? null });

/** Where and why a driver refuses settings; null when it does not. */
export function refusedBy(driver: Driver, settings: unknown, place: DriverPlace) {
  const plan = driver.plan(settings, place);
  return plan.kind === 'wrong' ? { path: plan.path.join('.'), problem: plan.problem } : null;
}

/** @throws when the driver refuses the settings */
export function plannedCell(driver: Driver, settings: unknown, place: DriverPlace): DrivenCell {
  const plan = driver.plan(settings, place);
  if (plan.kind === 'wrong') throw new Error(`${plan.path.join('.')}: ${plan.problem}`);
  return plan.cell;
}
