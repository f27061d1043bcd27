import { main } from './cli.ts';
import { ignoreEpipe, processIo } from './cli/io.ts';

ignoreEpipe();
process.exitCode = await main(process.argv.slice(2), processIo());
