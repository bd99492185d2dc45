import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'

const TASKS = 'test/system/tasks/by-workers.ts'

function baton(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const env = { PATH: process.env.PATH, ...environment }
  return spawnSync(process.execPath, ['cli/baton.ts', ...args], { encoding: 'utf8', env })
}

it.each([
  ['without a command', [], 'commands: worker'],
  ['with a command that there is not', ['constructor'], 'commands: worker'],
  ['without a file', ['worker'], 'give one FILE'],
  ['with a file that is not there', ['worker', 'nowhere.ts'], 'there is no file nowhere.ts'],
  ['with a file that defines no task', ['worker', 'cli/worker.ts'], 'exports no task'],
  ['with an unknown option', ['worker', TASKS, '--colour'], "Unknown option '--colour'"],
  ['with no number for its concurrency', ['worker', TASKS, '--concurrency', 'many'], 'concurrency is NaN'],
  ['without a system', ['worker', TASKS], 'environment variable BATON_TABLE is not set'],
])('%s it prints what would be legal, and exits with code 2', (_name, args, message) => {
  const known = args.includes('--concurrency') && {
    BATON_TABLE: 't',
    BATON_SYSTEM: 's',
    BATON_WAKE_QUEUE_URL: 'http://q/w',
  }

  const { status, stderr } = baton(args, known || {})

  expect(stderr).toContain(message)
  expect(status).toBe(2)
})
