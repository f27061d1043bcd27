import { main } from './cli.ts';
import { outliveOutput, processIo } from './cli/io.ts';

outliveOutput();
process.exitCode = await main(process.argv.slice(2), processIo());
