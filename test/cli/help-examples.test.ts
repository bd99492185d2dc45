import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { aFolder } from '../support/a-folder.ts'
import { aSignedApi, known, type SignedApi, stubAwsUser } from '../support/cli/a-signed-api.ts'
import { type Ran, runOn } from '../support/cli/a-terminal.ts'
import { anAws, type FakeAws } from '../support/cli/an-aws.ts'
import { systemOutputs } from '../support/cli/aws-xml.ts'
import { examplesInMemory, wordsOf } from '../support/cli/help-examples.ts'
import { anApi, claimed, published, type TestApi } from '../support/http/an-api.ts'
import { aLetter } from '../support/tasks/a-letter.ts'

/** Every example of the help does what it says. */

const SECOND_MS = 1_000

let api: TestApi
let signed: SignedApi
let aws: FakeAws
let folder: string

beforeAll(async () => {
  signed = await aSignedApi()
  aws = await anAws(known)
  aws.stacks.Shop = { outputs: systemOutputs('Shop', signed.url) }
})
afterAll(async () => {
  signed.stop()
  await aws.stop()
})

beforeEach(async () => {
  api = await anApi()
  signed.api = api
  stubAwsUser()
  folder = aFolder()
  writeFileSync(join(folder, 'images.csv'), 'id,width:number\na,1\n')
  for (const type of ['mail', 'report', 'order']) await api.call('PUT', `/v1/types/${type}`, { kind: 'http' })
  await api.call('PUT', '/v1/types/resize', { kind: 'http' })
  await api.call('PUT', '/v1/schedules/nightly', { cron: '0 3 * * *', task: { type: 'report' } })
  await api.system.deadLetters.put(
    aLetter({
      ...{ queue: 'type:resize', sentAt: 1_764_000_000, messageId: '0f1c2d3e-4b5a-6978-8796-a5b4c3d2e1f0' },
    }),
    '{}',
  )
  await published(api, { type: 'resize', key: 'img-1' })
  await published(api, { type: 'order', key: '42' })
  await api.call('POST', '/v1/canvases', { key: 'album', group: [{ type: 'resize' }] })
})
afterEach(() => void vi.unstubAllEnvs())

/** The examples that need a failed task. */
const NEEDS_A_FAILURE = /--wait|--follow|^baton (result|retry) /

/** The examples that end with code 1 here, with what they say. */
const FAILING: ReadonlyArray<readonly [example: RegExp, says: RegExp]> = [
  [/^baton (publish .* --wait|result )/, /Odd: no picture/],
  [/^baton retry order:42 --action skip-undo$/, /order:42/],
  [/^baton bulk /, /there is no bulk operation/],
  [/^baton doctor( --stack Shop)?$/, /no live worker serves resize, and tasks wait/],
]

it.each(examplesInMemory)('%s', async example => {
  if (NEEDS_A_FAILURE.test(example)) await failWithLog()
  const { code, err, out } = await run(example)
  const [, says = /./] = FAILING.find(([fits]) => fits.test(example)) ?? []

  expect(err).not.toMatch(/^ +at /m)
  expect(out + err).toMatch(says)
  expect({ err, code }).toEqual({ err, code: FAILING.some(([fits]) => fits.test(example)) ? 1 : 0 })
})

async function failWithLog(): Promise<void> {
  const { path, fence } = await claimed(api, { type: 'resize' })
  const error = { name: 'Odd', message: 'no picture' }
  await api.call('POST', `${path}/fail`, { fence, fatal: true, error, log: 'resizing' })
}

/** Runs the example. What never ends is interrupted after its first output, and a pause needs a clock that continues. */
async function run(example: string): Promise<Ran> {
  const [name = '', ...rest] = wordsOf(example.replace('images.csv', join(folder, 'images.csv')))
  const interruption = new AbortController()
  const options = {
    input: '{"width": 1}\n',
    signal: interruption.signal,
    ...(name === 'watch' && { onPrint: () => interruption.abort() }),
  }
  const args = [name, ...rest, ...answersOf(name, rest)]
  if (args.includes('--stack'))
    return runOn(undefined, args, { ...options, env: { AWS_ENDPOINT_URL: aws.url }, fetch })
  const running = runOn(api, args, options)
  return ['pause', 'resume'].includes(name) ? whileTimePasses(running) : running
}

/** What a person adds at the terminal: the answer to a question, and a place for the report of this test. */
function answersOf(name: string, args: readonly string[]): string[] {
  const asks =
    name === 'purge' || (name === 'dead-letters' && args[0] === 'replay' && args.includes('--queue'))
  return [
    ...(args.includes('--from') ? ['--report', join(folder, 'report')] : []),
    ...(asks ? ['--yes'] : []),
  ]
}

async function whileTimePasses(running: Promise<Ran>): Promise<Ran> {
  let isOver = false
  const ended = running.finally(() => {
    isOver = true
  })
  while (!isOver) {
    await api.system.clock.advance(SECOND_MS)
    await setImmediate()
  }
  return ended
}
