import { parseArgs } from 'node:util'
import { hostsOfEnvironment } from '../cli/dev/command/dev-command.ts'
import { type DevSession, startDev } from '../cli/dev/dev.ts'
import { createTerminal } from '../cli/dev/terminal.ts'
import { freshDashboard } from './build/dashboard.ts'
import { runDemonstration } from './demonstration/demonstration.ts'

/**
 * `npm start`: `baton dev` on this repository's own app, with a demonstration workload. Each failed run is shown in one line, and
 * after the workload every run; `--verbose` shows all that handlers log. `--once` ends after the workload, with exit code 0 only
 * if every task ended as expected. `--auth iam` demands signed calls, also of the demonstration.
 */
const { values } = parseArgs({
  options: {
    once: { type: 'boolean', default: false },
    empty: { type: 'boolean', default: false },
    data: { type: 'string' },
    auth: { type: 'string' },
    'allow-host': { type: 'string', multiple: true, default: [] },
    verbose: { type: 'boolean', default: false },
  },
})

const DEFAULT_PORT = 7070
const port = Number(process.env.PORT ?? DEFAULT_PORT)
if (!Number.isInteger(port) || port < 0 || port > 65_535)
  fail(`PORT is ${process.env.PORT}: give a number from 0 to 65535`)

const { auth } = values
if (auth !== undefined && auth !== 'iam') fail(`--auth is ${auth}; the only legal value is iam`)

const terminal = createTerminal(values, process.cwd(), values.empty ? 'runs' : 'failures')
const session = await start()
stopOnSignals(session)
void session.broken.then(reason => fail(`the system has ended: ${reason}`))

const passed = values.empty || (await demonstrate(session))
if (values.once) {
  await session.stop()
  process.exit(passed ? 0 : 1)
}
terminal.say('Serving until Ctrl-C.')

async function start(): Promise<DevSession> {
  const { data, verbose } = values
  const options = {
    port,
    verbose,
    dashboard: await freshDashboard(),
    allowHost: [...values['allow-host'], ...hostsOfEnvironment()],
    ...(data !== undefined && { data }),
    ...(auth === 'iam' && { auth: 'iam' as const }),
  }
  try {
    return await startDev(options, process.cwd(), terminal)
  } catch (error) {
    return fail(`the system did not start: ${error instanceof Error ? error.message : String(error)}`)
  }
}

async function demonstrate(running: DevSession): Promise<boolean> {
  const [only] = running.systems()
  if (!only) return fail('the app has no task system')
  terminal.say('Some runs of the demonstration fail on purpose; each failure is one line.')
  const hasPassed = await runDemonstration(only.cloud)
  terminal.show('runs')
  return hasPassed
}

/** The first signal ends everything in order. A second one ends the process at once. */
function stopOnSignals(running: DevSession): void {
  let stopping = false
  const stop = async () => {
    if (stopping) process.exit(130)
    stopping = true
    console.log('\nStopping …')
    await running.stop()
    process.exit(0)
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
}

function fail(message: string): never {
  console.error(message)
  process.exit(1)
}
