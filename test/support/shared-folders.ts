import { afterAll } from 'vitest';

import { removeSharedFolders } from './bench.ts';

// In a set-up file, which runs for each test file, also where the files of a project share their modules.
afterAll(removeSharedFolders);
