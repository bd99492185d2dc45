import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { totalOf } from '../../local/gateway/meter.ts'
import { type LocalSystem, startLocalSystem } from '../support/local-system.ts'

let system: LocalSystem

beforeAll(async () => {
  system = await startLocalSystem()
  // It writes by itself once a minute, which no task causes.
  system.cloud.scheduler.disable('Sweep')
  await system.cloud.functions.find('WordCount').warm(1)
})

afterAll(() => system?.stop())

const MEMBERS = 300
const count = (n: number) => ({ type: 'word-count', input: { text: `${n} words` } })
const members = Array.from({ length: MEMBERS }, (_, n) => count(n))

async function canvasWhenEnded(id: string) {
  for (;;) {
    const { body } = await system.call('GET', `/v1/canvases/${encodeURIComponent(id)}?limit=1`)
    if (body.status !== 'running') return body
    await sleep(50)
  }
}

/** Nobody writes any more. */
async function untilQuiet() {
  for (;;) {
    const before = system.cloud.meter.snapshot()
    await sleep(500)
    if (totalOf(system.cloud.meter.since(before)).writeUnits === 0) return
  }
}

async function writeUnitsOf(work: () => Promise<unknown>): Promise<number> {
  const before = system.cloud.meter.snapshot()
  await work()
  await untilQuiet()
  const dynamodb = system.cloud.meter.since(before).filter(({ service }) => service === 'dynamodb')
  return totalOf(dynamodb).writeUnits
}

async function publishPlain() {
  for (let start = 0; start < MEMBERS; start += 100) {
    await system.call('POST', '/v1/tasks', { tasks: members.slice(start, start + 100) })
  }
}

async function runChord() {
  const chord = { group: members, then: { type: 'word-count', input: { text: 'the end' } } }
  const { status, body } = await system.call('POST', '/v1/canvases', { chord })
  expect(status).toBe(201)
  return canvasWhenEnded(body.id)
}

it('a chord hands on, ends, and costs at most two write units more a member than plain tasks', async () => {
  const plain = await writeUnitsOf(publishPlain)
  let ended: Awaited<ReturnType<typeof runChord>>
  const chord = await writeUnitsOf(async () => {
    ended = await runChord()
  })

  expect(ended).toMatchObject({
    status: 'succeeded',
    result: { words: 2 },
    counts: { succeeded: MEMBERS + 1 },
  })
  expect(plain / MEMBERS).toBeLessThan(6.1)
  expect(chord / MEMBERS).toBeLessThan(plain / MEMBERS + 2)
  console.info({ plain: plain / MEMBERS, chord: chord / MEMBERS })
}, 120_000)
