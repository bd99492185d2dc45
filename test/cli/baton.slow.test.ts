import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { aFolder } from '../support/a-folder.ts'

const TASKS = 'test/system/tasks/by-workers.ts'
const SYSTEM = { BATON_TABLE: 't', BATON_SYSTEM: 's', BATON_WAKE_QUEUE_URL: 'http://q/w' }
/** A port on which nothing of this machine listens. */
const NOWHERE = 'http://127.0.0.1:1'

function baton(args: readonly string[], environment: Readonly<Record<string, string>> = {}, cwd = '.') {
  const env = { PATH: process.env.PATH, TMPDIR: tmpdir(), ...environment }
  return spawnSync(process.execPath, [resolve('cli/program/baton.ts'), ...args], {
    encoding: 'utf8',
    env,
    cwd,
  })
}

describe('wrong use ends with code 2 and says what is legal:', () => {
  it.each<[string, string[], string, Readonly<Record<string, string>>?]>([
    ['no command', [], 'Usage: baton'],
    ['a command that there is not', ['constructor'], "unknown command 'constructor'"],
    ['a misspelt command', ['wroker'], 'Did you mean worker?'],
    ['no file', ['worker'], "missing required argument 'file'"],
    ['two files', ['worker', TASKS, TASKS], 'Expected 1 argument but got 2'],
    ['a file that is not there', ['worker', 'nowhere.ts'], 'there is no file nowhere.ts'],
    ['a file that defines no task', ['worker', 'cli/worker/worker.ts'], 'exports no task'],
    ['a misspelt option', ['worker', TASKS, '--concurency', '1'], 'Did you mean --concurrency?'],
    [
      'no number of milliseconds',
      ['worker', TASKS, '--drain-ms', '-1'],
      'Give a whole number of milliseconds',
    ],
    ['no URL', ['worker', TASKS, '--url', 'here'], 'here is not a URL'],
    [
      'an address at which nothing runs',
      ['worker', TASKS, '--url', NOWHERE],
      `no baton dev of this user runs`,
    ],
    ['a port that is none', ['dev', '--port', '70000'], 'Give a whole number from 0 to 65535.'],
    ['an argument too many', ['dev', 'app.ts'], "too many arguments for 'dev'"],
    [
      'a worker without a system',
      ['worker', TASKS],
      'BATON_TABLE is not set, and no baton dev of this user runs at http://127.0.0.1:1',
      { BATON_URL: NOWHERE },
    ],
    [
      'a concurrency that is no number',
      ['worker', TASKS, '--concurrency', 'many'],
      'concurrency is NaN',
      SYSTEM,
    ],
  ])('%s', (_name, args, message, environment = {}) => {
    const { status, stderr, stdout } = baton(args, environment)

    expect(stderr).toContain(message)
    expect(stdout).toBe('')
    expect(status).toBe(2)
  })

  it('a folder without a CDK app', () => {
    const { status, stderr } = baton(['dev', '--port', '0'], {}, aFolder())

    expect(stderr).toContain('there is no cdk.json in')
    expect(stderr.trim().split('\n')).toHaveLength(1)
    expect(status).toBe(2)
  })
})

it.each([
  [['--help'], ['dev ', 'worker ', 'dashboard ']],
  [['--version'], [JSON.parse(readFileSync('package.json', 'utf8')).version]],
  [
    ['dev', '--help'],
    ['--port <n>', '--data <dir>', '--inspect', '--allow-host', '--verbose'],
  ],
  [
    ['worker', '--help'],
    ['--url <url>', '--concurrency <n>', 'BATON_WAKE_QUEUE_URL'],
  ],
])('%s says what there is, and ends with code 0', (args, words) => {
  const { status, stdout } = baton(args)

  for (const word of words) expect(stdout).toContain(word)
  expect(status).toBe(0)
})
