import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anHttpWorker, type Given } from '../http/http-workers.ts'
import { aLocalSystem } from '../local-system/local-system.ts'

const OVER_HTTP = {
  sum: (terms: number[]) => terms.reduce((sum, term) => sum + term, 0),
  product: (factors: number[]) => factors.reduce((product, factor) => product * factor, 1),
}

/** A local system for the tests of a file, with an HTTP worker that serves the types `sum` and `product`. */
export function aCalculatingSystem() {
  const system = aLocalSystem()
  let clerk: ReturnType<typeof anHttpWorker>

  beforeAll(async () => {
    for (const type of Object.keys(OVER_HTTP)) await system.call('PUT', `/v1/types/${type}`, { kind: 'http' })
    clerk = anHttpWorker(system, Object.keys(OVER_HTTP), ({ type, input }) => ({
      outcome: 'succeed',
      result: OVER_HTTP[type as keyof typeof OVER_HTTP](input),
    }))
  })
  afterAll(() => clerk?.stop())

  /** Publishes a canvas and returns it once it has ended. */
  const ended = async (body: object): Promise<Given> => {
    const published = await system.call('POST', '/v1/canvases', body)
    expect(published).toMatchObject({ status: 201, body: { id: expect.any(String) } })
    return system.answerWhen(
      `/v1/canvases/${published.body.id}?limit=100`,
      ({ status }) => status !== 'running',
    )
  }
  return { system, ended }
}

/** The types that add and multiply their arguments, and a publish that returns its canvas once it has ended. */
type Arithmetic = { readonly add: string; readonly multiply: string; ended(body: object): Promise<Given> }

/** Declares tests of chains, groups and chords that calculate. */
export function testArithmetic(by: string, { add, multiply, ended }: Arithmetic): void {
  describe(`arithmetic by ${by}`, () => {
    const sums = [
      { type: add, input: [1, 1] },
      { type: add, input: [2, 2] },
      { type: add, input: [5, 6] },
    ]

    it('as a chain hands each result on to the next task', async () => {
      const canvas = await ended({
        chain: [
          { type: add, input: [2, 2] },
          { type: add, input: [5, 6] },
          { type: multiply, input: [4] },
        ],
      })

      expect(canvas).toMatchObject({ status: 'succeeded', result: 60 })
    })

    it('as a group gives the results in the order of its members', async () => {
      expect(await ended({ group: sums })).toMatchObject({ status: 'succeeded', result: [2, 4, 11] })
    })

    it('as a chord gives the results to the callback', async () => {
      const canvas = await ended({ chord: { group: sums, then: { type: multiply, input: [] } } })

      expect(canvas).toMatchObject({ status: 'succeeded', result: 88 })
    })

    it('as a chain of groups of chords gives the right results', async () => {
      const chordOf = (group: object[]) => ({ chord: { group, then: { type: add, input: [] } } })
      const alone = sums.map(sum => ({ ...sum, immutable: true }))
      const canvas = await ended({
        chain: [{ group: [chordOf(sums), chordOf(sums)] }, { group: [chordOf(alone), { ...alone[0] }] }],
      })

      expect(canvas).toMatchObject({ status: 'succeeded', result: [17, 2] })
      expect(canvas.items).toHaveLength(13)
    })
  })
}
