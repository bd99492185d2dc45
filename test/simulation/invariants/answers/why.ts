import type { WhyAnswer } from '../../../../shared/api/diagnosis/why.ts'
import type { HistoryEvent } from '../../world/history.ts'
import type { SeenHead } from '../../world/seen-head.ts'
import type { Invariant } from '../invariant.ts'
import { isTrue } from './reasons.ts'
import { clockErrorMs, sightingsOf } from './sightings.ts'

export type Read = Extract<HistoryEvent, { readonly what: 'read' }>

const OK = 200

/** An invariant about the answers to one operation. */
export function onAnswers<Body>(
  name: string,
  operation: string,
  judge: (body: Body, read: Read, scenario: Parameters<Invariant['watch']>[0]) => string | undefined,
): Invariant {
  return {
    name,
    watch: scenario => ({
      on: event =>
        event.what === 'read' && event.operation === operation && event.status === OK
          ? judge(event.body as Body, event, scenario)
          : undefined,
    }),
  }
}

/** Promises about the answers to `GET /v1/tasks/{id}/why`. */
export const WHY_INVARIANTS: readonly Invariant[] = [
  onAnswers<WhyAnswer>('the reason that a caller gets is true of the task', 'why', (why, read, scenario) => {
    const sightings = sightingsOf(scenario)
    const heads = sightings.ownHeads(why.id, read)
    const isPossible = heads.some(head => head && isTrue(why.reason, head, { ...read, scenario, sightings }))
    return isPossible ? undefined : `${why.id} is said to be ${why.reason}: ${why.sentence}`
  }),
  onAnswers<WhyAnswer>(
    'each time in a sentence has a span that is right to a quarter',
    'why',
    ({ id, sentence }, { from, at }, scenario) => {
      const wrong = timesIn(sentence).find(({ time, span }) => {
        const most = Math.max(Math.abs(time - from), Math.abs(time - at))
        const least = Math.max(0, from - time, time - at)
        const error = clockErrorMs(scenario) + TOLD_TO_MS
        return span > most * 1.25 + error || span < least * 0.75 - error
      })
      return wrong && `the sentence about ${id} has a wrong span: ${sentence}`
    },
  ),
  onAnswers<WhyAnswer>(
    'a sentence names at most three tasks or workers of a kind',
    'why',
    ({ id, sentence }) =>
      LONG_LIST.test(sentence) ? `the sentence about ${id} lists many names: ${sentence}` : undefined,
  ),
  onAnswers<WhyAnswer>(
    'the sentence about an end counts the runs of the task',
    'why',
    (why, read, scenario) => {
      const heads = sightingsOf(scenario).ownHeads(why.id, read)
      const told = RUNS.exec(why.sentence)?.[1]
      const fits = heads.some(head => head && countsFit(why, head, told))
      return fits ? undefined : `the sentence about ${why.id} counts its runs wrongly: ${why.sentence}`
    },
  ),
  onAnswers<WhyAnswer>('a paused task says since when its type is paused', 'why', (why, read, scenario) => {
    if (why.reason !== 'paused') return undefined
    const { type } = sightingsOf(scenario).ownHeads(why.id, read).at(-1) ?? {}
    const types = type === undefined ? [] : sightingsOf(scenario).types(type, read)
    const times = types.flatMap(({ operations = [] }) =>
      operations.filter(({ what }) => what === 'pause').map(({ at }) => at),
    )
    if (times.length === 0) return undefined
    const isRight = why.since !== undefined && times.includes(Date.parse(why.since))
    return isRight ? undefined : `${why.id} is said to be paused since ${why.since}`
  }),
  onAnswers<WhyAnswer>('a task behind a rate limit names the limit', 'why', (why, read, scenario) => {
    const { limit, reason } = why
    if (reason !== 'rate-limit') return undefined
    const rates = sightingsOf(scenario)
      .types(limit?.name.split('=')[0] ?? '', read)
      .map(({ configuration }) => configuration.limits?.rate)
    const isRight = rates.some(rate => rate?.limit === limit?.max && rate?.perMs === limit?.perMs)
    return isRight ? undefined : `${why.id} names a wrong limit: ${JSON.stringify(limit)}`
  }),
  onAnswers<WhyAnswer>(
    'a flow that is half undone names the step whose undo has failed',
    'why',
    (why, read, scenario) => {
      if (why.reason !== 'undo-failed') return undefined
      const isRight = sightingsOf(scenario)
        .ownHeads(why.id, read)
        .some(head => halted(head).some(name => why.sentence.includes(`the undo of its step ${name} failed`)))
      return isRight ? undefined : `${why.id} names another step: ${why.sentence}`
    },
  ),
]

/** The steps of a flow whose undo has failed for good. */
function halted(head: SeenHead | undefined): string[] {
  const { definition, steps = {} } = head?.flow ?? {}
  return (definition?.steps ?? []).flatMap(({ name }, at) =>
    steps[at]?.state === 'undo-failed' ? [name] : [],
  )
}

/** Times are exact to the second, and a shorter distance as `now`. */
const TOLD_TO_MS = 2_000
const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  min: 60_000,
  h: 3_600_000,
  days: 86_400_000,
}
const TIME =
  /(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC \((?:(now)|(?:in )?([\d.]+) (ms|s|min|h|days)(?: ago)?)\)/g

/** The times that a sentence tells, each with its distance in words. */
function timesIn(sentence: string): Array<{ readonly time: number; readonly span: number }> {
  return [...sentence.matchAll(TIME)].map(([, day, clock, now, count, unit = 'ms']) => ({
    time: Date.parse(`${day}T${clock}Z`),
    span: now ? 0 : Number(count) * (UNIT_MS[unit] ?? 0),
  }))
}

/** Four names in a row. What follows the names begins with a comma, too. */
const LONG_LIST = /(?:held by|waits for|may take it:) (?:[^,; ]+, ){3}(?!the oldest|last seen|which )/
const RUNS = /, after (\d+) runs?[.,;]/

/** Whether the count of runs in the sentence about an end fits the head. A task that succeeded at once has no count. */
function countsFit({ reason }: WhyAnswer, head: SeenHead, told: string | undefined): boolean {
  if (head.flow || head.canvas || (reason !== 'succeeded' && reason !== 'failed')) return true
  if (head.state !== reason) return false
  const used =
    head.failures +
    Object.values(head.ended).filter(({ state, past }) => state === 'succeeded' && !past).length
  const isTold = reason === 'failed' ? used > 0 : used > 1
  return isTold ? Number(told) === used : told === undefined
}
