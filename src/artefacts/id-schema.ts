import * as z from 'zod';

import { isId } from './layout.ts';

/** An id as files state it: ids become names of folders and files. */
export const idSchema = z.string().refine(isId, 'is no id: 32 hexadecimal digits');
