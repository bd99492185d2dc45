import { expect, it } from 'vitest'
import { CONVERSATION } from '../../openapi/examples/examples.ts'
import { createMemoryStage } from '../../openapi/examples/memory-stage.ts'
import { type Exchanged, play } from '../../openapi/examples/play.ts'
import { ALL_OPERATIONS } from '../../shared/service/operations.ts'
import { REFUSALS } from './refusals.ts'

/**
 * The conversation of the OpenAPI document and further refusals, held with the HTTP API and with the service as the testing kit reaches it.
 * Both stages have the same times and ids.
 */

/** What only HTTP has: content types, the list of waiting claims of one process, and the stream of events. */
const steps = [...CONVERSATION, ...REFUSALS].filter(
  step => !('operation' in step) || (step.contentType === undefined && !step.isStream),
)

const [overHttp, inProcess] = (await Promise.all(
  (['http', 'in-process'] as const).map(reach =>
    play(ALL_OPERATIONS, steps, createMemoryStage(ALL_OPERATIONS, reach)),
  ),
)) as [Exchanged[], Exchanged[]]

const shown = ({ operation, name, answer }: Exchanged) =>
  `${operation} ${name}: ${answer.status} ${JSON.stringify(answer.body)}`

it('every exchange has the same answer over HTTP and in the process of a test, byte for byte', () => {
  expect(inProcess.map(shown)).toEqual(overHttp.map(shown))
})

/**
 * Refusals that the conversation does not bring about: a purge or a bulk operation on its few tasks ends before ten are under way, a type is
 * never removed, a triggered task meets no other task of its key, and nothing is deployed (`deploy-schedule.test.ts` has the schedules of a
 * deployment).
 */
const UNREACHABLE = [
  ...['startBulk conflict', 'purge conflict', 'putSchedule conflict', 'removeSchedule conflict'],
  ...['triggerSchedule unknown-type', 'triggerSchedule conflict'],
]

it('every refusal that an operation names is among the exchanges', () => {
  const typeOf = ({ answer }: Exchanged) => String(Object(answer.body).type)
  const seen = new Set(
    overHttp.map(one => `${one.operation} ${typeOf(one).replace('urn:baton:problem:', '')}`),
  )

  const missing = ALL_OPERATIONS.flatMap(({ name, problems = [] }) =>
    ['invalid' as const, ...problems].map(code => `${name} ${code}`).filter(one => !seen.has(one)),
  )

  expect(missing).toEqual(UNREACHABLE)
})
