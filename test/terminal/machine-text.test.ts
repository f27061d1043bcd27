import { expect, test } from 'vitest';

import { makeLook } from '../../src/terminal/look.ts';
import { machineLines } from '../../src/terminal/machine-text.ts';

test('a library whose name has no more than the major version is no other version', () => {
  const text = (tensorrtLibrary: string): string =>
    machineLines({ tensorrt: '10.6.0', tensorrtLibrary }, null, makeLook(120, false)).join('\n');
  expect(text('10')).not.toContain('library');
  expect(text('10.6.0')).not.toContain('library');
  expect(text('10.5.0')).toContain('library 10.5.0');
  expect(text('11')).toContain('library 11');
});
