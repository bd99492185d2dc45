import { describe, expect, it } from 'vitest'
import { CALM, type Scenario, type Step } from '../scenario.ts'
import type { Verdict } from '../simulate/judge.ts'
import { type Play, shrink } from './shrink.ts'

const VERDICT: Verdict = { invariant: 'no harm is done', message: 'harm', at: 0 }

const publishing = (key: string, type = 'b'): Step => ({
  at: 1_000,
  do: 'publish',
  request: { type, key },
  nonce: 1,
  padding: 0,
  acts: [
    { ms: 1, end: 'fail' },
    { ms: 2, end: 'crash' },
    { ms: 3, end: 'succeed' },
  ],
})

const LARGE: Scenario = {
  seed: 7,
  weather: { ...CALM, refused: 0.1, death: 0.2, skewMs: 300 },
  calmAt: 60_000,
  afterwardsMs: 90_000,
  types: [
    { type: 'a', servedBy: 'lambda', defaults: {}, shards: 2 },
    { type: 'b', servedBy: 'workers', defaults: {}, shards: 2 },
  ],
  flows: [],
  workers: ['w1', 'w2', 'w3'].map(workerId => ({
    kind: 'standalone' as const,
    workerId,
    types: ['b'],
    concurrency: 1,
    startsAt: 0,
  })),
  steps: [
    ...Array.from({ length: 9 }, (_, index) => publishing(`k${index}`, index === 4 ? 'b' : 'a')),
    { at: 2_000, do: 'cancel', id: 'a:k1' },
    { at: 3_000, do: 'kill-worker', workerId: 'w2', backAfterMs: 5 },
  ],
}

const hasHarm = ({ steps, weather, workers, calmAt }: Scenario) =>
  steps.some(step => step.do === 'publish' && step.request.key === 'k4' && step.acts[0]?.end !== 'succeed') &&
  steps.some(step => step.do === 'kill-worker') &&
  weather.death > 0 &&
  workers.some(({ workerId }) => workerId === 'w2') &&
  calmAt >= 20_000

/** Breaks the invariant when the scenario is harmful, and another invariant otherwise. */
function aPlay(isHarmful: (scenario: Scenario) => boolean): Play & { readonly played: Scenario[] } {
  const played: Scenario[] = []
  const play: Play = async scenario => {
    played.push(scenario)
    const invariant = isHarmful(scenario) ? VERDICT.invariant : 'something else'
    return { broken: { ...VERDICT, invariant }, events: 10 }
  }
  return Object.assign(play, { played })
}

describe('a shrunk scenario', () => {
  it('keeps only the parts that the fault needs', async () => {
    const smallest = await shrink(LARGE, VERDICT, aPlay(hasHarm))

    expect(smallest).toEqual({
      seed: 7,
      weather: { ...CALM, death: 0.2 },
      calmAt: expect.closeTo(20_500, -3),
      afterwardsMs: 0,
      types: [LARGE.types[1]],
      flows: [],
      workers: [LARGE.workers[1]],
      steps: [{ ...publishing('k4'), acts: [] }, LARGE.steps.at(-1)],
    })
    expect(hasHarm(smallest)).toBe(true)
  })

  it('keeps only the outages that the fault needs', async () => {
    const outages = (['table', 'queues', 'functions'] as const).map(service => ({ service, from: 0, ms: 5 }))
    const isOut = (scenario: Scenario) =>
      scenario.outages?.some(({ service }) => service === 'queues') === true

    const smallest = await shrink({ ...LARGE, outages }, VERDICT, aPlay(isOut))

    expect(smallest.outages).toEqual([{ service: 'queues', from: 0, ms: 5 }])
  })

  it('is the scenario itself when all of it is needed', async () => {
    const smallest = await shrink(
      LARGE,
      VERDICT,
      aPlay(scenario => scenario === LARGE),
    )

    expect(smallest).toBe(LARGE)
  })

  it('never leaves tasks without a worker that could execute them', async () => {
    const play = aPlay(({ steps }) => steps.length > 0)

    const smallest = await shrink(LARGE, VERDICT, play)

    expect(smallest.steps).toHaveLength(1)
    for (const { steps, types, workers } of play.played) {
      const published = steps.flatMap(step => (step.do === 'publish' ? [step.request.type] : []))
      expect(types.map(({ type }) => type)).toEqual(expect.arrayContaining(published))
      if (published.includes('b')) expect(workers).not.toEqual([])
    }
  })

  it('is the same every time', async () => {
    const [one, other] = [aPlay(hasHarm), aPlay(hasHarm)]

    await shrink(LARGE, VERDICT, one)
    await shrink(LARGE, VERDICT, other)

    expect(one.played).toEqual(other.played)
  })

  it.each([
    ['plays', { plays: 17, events: Number.POSITIVE_INFINITY }, 17],
    ['events', { plays: 400, events: 55 }, 6],
  ])('is the smallest one found within the bound of %s', async (_bound, bounds, plays) => {
    const play = aPlay(hasHarm)

    const smallest = await shrink(LARGE, VERDICT, play, bounds)

    expect(play.played).toHaveLength(plays)
    expect(hasHarm(smallest)).toBe(true)
    expect(JSON.stringify(smallest).length).toBeLessThan(JSON.stringify(LARGE).length)
  })
})
