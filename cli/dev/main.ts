import { messageOf } from '../../shared/core/values/values.ts'
import { isWrongUse, WRONG_USE_EXIT_CODE } from '../terminal/io.ts'
import type { DevOptions } from './command/dev-command.ts'
import { type DevSession, startDev } from './dev.ts'
import { createTerminal } from './terminal.ts'

/**
 * The process of `baton dev`. The command starts it with its options as JSON. The first signal ends everything in order, and so does
 * the end of the command's process. A second signal ends this process at once.
 */
const options = JSON.parse(process.argv[2] ?? '{}') as DevOptions

let session: DevSession | undefined
let isStopping = false
process.on('SIGINT', () => void stop(130))
process.on('SIGTERM', () => void stop(143))
process.on('disconnect', () => void stop(1))

try {
  session = await startDev(options, process.cwd(), createTerminal(options, process.cwd()))
  void session.broken.then(reason => fail(`the local system has ended: ${reason}`, 1))
} catch (error) {
  if (!isStopping) fail(messageOf(error), isWrongUse(error) ? WRONG_USE_EXIT_CODE : 1)
}

async function stop(code: number): Promise<void> {
  if (isStopping || !session) process.exit(code)
  isStopping = true
  console.log('\nStopping …')
  await session.stop()
  process.exit(code === 1 ? 1 : 0)
}

function fail(message: string, code: number): never {
  console.error(message)
  process.exit(code)
}
