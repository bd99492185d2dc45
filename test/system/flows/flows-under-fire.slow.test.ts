import { afterAll, beforeAll, expect, it } from 'vitest'
import { anHttpWorker, type Given } from '../../support/http/http-workers.ts'
import { aLocalSystem } from '../../support/local-system/local-system.ts'
import { scaled } from '../../support/scale.ts'
import { measured } from '../../support/workers/worker-fleet.ts'

/** How many flows of each of the four kinds are published. */
const EACH = scaled(15, 50)
/** The planner's process is killed at most this often. */
const KILLS_MAX = 12
/** The process is killed after this time, or up to twice as long. It starts in some 300 ms. */
const LIFE_MS_MIN = 700
/** A flow that has not ended within this time was not repaired by the sweeper either. */
const LIMIT_MS = 150_000

const system = aLocalSystem()
let clerk: ReturnType<typeof anHttpWorker>

beforeAll(async () => {
  for (const type of ['sum', 'take', 'give-back'])
    await system.call('PUT', `/v1/types/${type}`, { kind: 'http' })
  const taking = { do: { type: 'take' }, undo: { type: 'give-back' } }
  await system.call('PUT', '/v1/types/booking', {
    kind: 'flow',
    steps: [
      { name: 'seat', ...taking },
      { name: 'sum', do: { type: 'add', input: [20, 22] } },
      { name: 'meal', ...taking },
    ],
  })
  clerk = anHttpWorker(system, ['sum', 'take', 'give-back'], work)
})

afterAll(async () => {
  await clerk?.stop()
})

/** Refuses the meal of bookings with an odd number. Moves a task without input to a second stage, and adds up the numbers there. */
function work({ type, input, stage, step, direction, params }: Given) {
  if (type === 'booking') {
    const isRefused = direction === 'do' && step === 'meal' && params.number % 2 === 1
    return isRefused
      ? { outcome: 'fail', fatal: true, error: { name: 'SoldOut', message: 'no meal left' } }
      : { outcome: 'succeed', result: `${step} ${params.number}` }
  }
  if (stage === undefined && input === undefined) {
    return { outcome: 'succeed', next: { stage: 'second', input: [1, 2] } }
  }
  return { outcome: 'succeed', result: (input ?? []).reduce((sum: number, term: number) => sum + term, 0) }
}

/** Kills the planner's process again and again. `stop` ends that and returns the number of kills. */
function killThePlanner(): { stop(): number } {
  const planner = system.cloud.functions.find('Planner')
  let kills = 0
  let timer: NodeJS.Timeout | undefined
  const kill = () => {
    const [pid] = planner.pids()
    if (pid !== undefined) process.kill(pid, 'SIGKILL')
    if (pid !== undefined) kills += 1
    if (kills >= KILLS_MAX) return
    timer = setTimeout(kill, LIFE_MS_MIN * (1 + Math.random()))
  }
  kill()
  return {
    stop: () => {
      clearTimeout(timer)
      return kills
    },
  }
}

/** Reads one task after the other: hundreds of readers at once would be a load of their own. */
async function oneByOne(ids: readonly string[], read: (id: string) => Promise<Given>): Promise<Given[]> {
  const found: Given[] = []
  for (const id of ids) found.push(await read(id))
  return found
}

const numbers = Array.from({ length: EACH }, (_, number) => number)

async function publishMany(tasks: object[]): Promise<void> {
  const { status, body } = await system.call('POST', '/v1/tasks/batch', { tasks })
  expect([status, ...body.results.map((result: Given) => result.status)].every(code => code < 300)).toBe(true)
}

async function publishCanvases(canvasOf: (number: number) => object): Promise<string[]> {
  const answers = await Promise.all(
    numbers.map(number => system.call('POST', '/v1/canvases', canvasOf(number))),
  )
  return answers.map(({ body }) => body.id)
}

async function canvasEnd(id: string): Promise<Given> {
  const until = Date.now() + LIMIT_MS
  for (;;) {
    const { body } = await system.call('GET', `/v1/canvases/${id}`)
    if (body.status !== 'running') return body
    if (Date.now() > until) throw new Error(`canvas still running: ${JSON.stringify(body)}`)
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}

it(`${4 * EACH} mixed flows end as expected, and each callback runs once, while the planner is killed and gets every batch twice`, async () => {
  system.cloud.mapping('Planner').repeat(2)
  const killing = killThePlanner()
  const begunAt = Date.now()

  const noted = (key: string) => ({ type: 'note', key, input: [] })
  await publishMany(
    numbers.map(number => ({
      type: 'booking',
      key: `b${number}`,
      input: { number },
      onSuccess: [noted(`booked-${number}`)],
      onError: [noted(`refused-${number}`), { type: 'sum', key: `again-${number}`, input: [number] }],
    })),
  )
  await publishMany(
    numbers.map(number => ({ type: 'sum', key: `staged-${number}`, onSuccess: [noted(`staged-${number}`)] })),
  )
  const chords = await publishCanvases(number => ({
    chord: {
      group: [
        { type: 'add', input: [number] },
        { type: 'sum', input: [1, 1] },
        { type: 'add', input: [2, 2] },
      ],
      then: { type: 'add', input: [0] },
    },
  }))
  const chains = await publishCanvases(number => ({
    chain: [
      { type: 'add', input: [number] },
      number % 2 === 1 ? { type: 'fail', input: ['odd'], immutable: true } : { type: 'sum', input: [1] },
      { type: 'add', input: [1] },
    ],
  }))

  const hasEnded = ({ status }: Given) => ['succeeded', 'failed'].includes(status)
  const taskEnd = (id: string) => system.taskWhen(id, hasEnded, LIMIT_MS)
  const bookings = await oneByOne(
    numbers.map(number => `booking:b${number}`),
    taskEnd,
  )
  const chordResults = await oneByOne(chords, canvasEnd)
  const chainResults = await oneByOne(chains, canvasEnd)
  const staged = await oneByOne(
    numbers.map(number => `note:staged-${number}`),
    taskEnd,
  )
  const callbacks = await oneByOne(
    numbers.map(number => `note:${number % 2 ? 'refused' : 'booked'}-${number}`),
    taskEnd,
  )
  const kills = killing.stop()

  for (const number of numbers) {
    const isOdd = number % 2 === 1
    expect(bookings[number]).toMatchObject({
      status: isOdd ? 'failed' : 'succeeded',
      cursor: 2,
      steps: isOdd
        ? [{ state: 'undone' }, { state: 'succeeded', result: 42 }, { state: 'undone' }]
        : [
            { state: 'succeeded' },
            { state: 'succeeded', result: 42 },
            { state: 'succeeded', result: `meal ${number}` },
          ],
    })
    expect(callbacks[number].runs).toHaveLength(1)
    expect(staged[number]).toMatchObject({ result: { words: [3], previous: 3 } })
    expect(chordResults[number]).toMatchObject({ status: 'succeeded', result: number + 6 })
    expect(chainResults[number]).toMatchObject(
      isOdd ? { status: 'failed' } : { status: 'succeeded', result: number + 2 },
    )
  }
  for (const number of numbers) {
    const other = await system.call('GET', `/v1/tasks/note:${number % 2 ? 'booked' : 'refused'}-${number}`)
    expect(other.status).toBe(404)
  }
  expect(kills).toBeGreaterThan(KILLS_MAX / 2)
  measured(`${4 * EACH} mixed flows, the planner killed ${kills} times`, Date.now() - begunAt)
}, 200_000)
