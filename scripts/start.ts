import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { type LocalCloud, startLocalCloud } from '../local/cloud.ts'
import { openDataFolder } from '../local/data-folder/data-folder.ts'
import type { LogLine } from '../local/log-line.ts'
import { runDemonstration } from './demonstration/demonstration.ts'
import { terminalLine } from './terminal-lines.ts'

/**
 * `npm start`: synthesises the template, boots the system from it, publishes a demonstration workload and serves until
 * Ctrl-C. Each failed run is shown in one line; `--verbose` shows all that handlers log. `--once` ends after the workload, with
 * exit code 0 only if every task ended as expected.
 */
const { values } = parseArgs({
  options: {
    once: { type: 'boolean', default: false },
    empty: { type: 'boolean', default: false },
    data: { type: 'string' },
    'allow-host': { type: 'string', multiple: true, default: [] },
    verbose: { type: 'boolean', default: false },
  },
})

const DEFAULT_PORT = 7070
const port = Number(process.env.PORT ?? DEFAULT_PORT)
if (!Number.isInteger(port) || port < 0 || port > 65_535)
  fail(`PORT is ${process.env.PORT}: give a number from 0 to 65535`)

openData()
synthesise()
const cloud = await boot()
stopOnSignals(cloud)
void cloud.broken.then(reason => fail(`the system has ended: ${reason}`))
for (const fn of cloud.functions.all()) void fn.warm(1)
console.log(
  `Baton is up at ${cloud.apiUrl} after ${process.uptime().toFixed(1)} s (OpenAPI at ${cloud.apiUrl}/v1/openapi.json)`,
)

if (!values.empty) console.log('Some runs of the demonstration fail on purpose; each failure is one line.')
const passed = values.empty || (await runDemonstration(cloud))
if (values.once) {
  await cloud.stop()
  process.exit(passed ? 0 : 1)
}
console.log(`Serving at ${cloud.apiUrl} until Ctrl-C.`)

/** Opens the data folder before the synthesis, which takes seconds, so that an unusable folder is reported at once. */
function openData(): void {
  if (values.data === undefined) return
  try {
    openDataFolder(values.data)
  } catch (error) {
    fail(`the system did not start: ${messageOf(error)}`)
  }
}

/** The host names besides those of loopback: `--allow-host`, and `BATON_ALLOWED_HOSTS` with commas. */
function allowedHosts(): string[] {
  const named = (process.env.BATON_ALLOWED_HOSTS ?? '').split(',').map(host => host.trim())
  return [...values['allow-host'], ...named.filter(host => host !== '')]
}

function synthesise(): void {
  const { status, stderr } = spawnSync('cdk', ['synth', '--quiet'], {
    encoding: 'utf8',
    // The validation rules concern deployments and take a third of a synthesis. `npm run synth` and `npm run deploy` apply them.
    env: { ...process.env, CDK_VALIDATION: 'false' },
  })
  if (status !== 0) fail(`the template could not be synthesised:\n${stderr}`)
}

async function boot(): Promise<LocalCloud> {
  try {
    return await startLocalCloud({
      assemblyDir: 'cdk.out',
      stackName: 'Baton',
      apiPort: port,
      allowedHosts: allowedHosts(),
      ...(values.data && { dataDir: values.data }),
      log: ({ source, line }: LogLine) => {
        const shown = terminalLine(source === 'cloud' ? line : `${source}: ${line}`, values.verbose)
        if (shown !== undefined) console.error(process.stdout.isTTY ? `\r\x1b[K${shown}` : shown)
      },
    })
  } catch (error) {
    return fail(`the system did not start: ${messageOf(error)}`)
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The first signal ends everything in order. A second one ends the process at once. */
function stopOnSignals(running: LocalCloud): void {
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
