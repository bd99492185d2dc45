import type { CanvasAnswer } from '../../api/canvases.ts'
import { targetOf } from '../../api/endpoints.ts'
import type { PublishAnswer, PublishBody } from '../../api/publish.ts'
import type { Claim, ClaimsAnswer, ClaimsBody } from '../../api/runs.ts'
import type { Operations } from '../../client/operations.ts'
import type { Send } from '../../client/send.ts'
import { defined, illegal } from '../../core/values/values.ts'
import type { Canvas } from '../../define/canvases.ts'
import type { AnyDefinition } from '../../define/definitions.ts'
import { bodyOf, inputProblems, isCanvas, textOf } from '../../define/publishable.ts'
import { type ClaimedRun, nameOf, type SystemUnderTest } from './test-system.ts'

/** The calls of a test system, in memory or deployed: the calls of the client, with the same answers and refusals. */

const DEFAULT_WORKER = 'test-worker'

export type Calls = Pick<
  SystemUnderTest,
  | ('cancel' | 'retry' | 'remove' | 'patch' | 'canvas' | 'cancelCanvas' | 'pause' | 'resume' | 'claim')
  | ('schedule' | 'removeSchedule' | 'pauseSchedule' | 'resumeSchedule' | 'triggerSchedule')
>

/** The calls of the client as the calls of a test. `claim` sends a claim at once. */
export function callsOf(client: Operations, claim: (body: ClaimsBody) => Promise<ClaimsAnswer>): Calls {
  const { cancel, retry, remove, patch, canvas, cancelCanvas } = client
  const { removeSchedule, pauseSchedule, resumeSchedule, triggerSchedule } = client
  return {
    ...{ cancel, retry, remove, patch, canvas, cancelCanvas },
    ...{ removeSchedule, pauseSchedule, resumeSchedule, triggerSchedule },
    pause: type => client.pause(nameOf(type)),
    resume: type => client.resume(nameOf(type)),
    schedule: (name, schedule) => (schedule ? client.putSchedule(name, schedule) : client.schedule(name)),
    claim: async (type, { workerId = DEFAULT_WORKER, limit = 1 } = {}) => {
      const { claims } = await claim({ type: nameOf(type), workerId, limit })
      return claims.map(one => claimedRun(client, one))
    },
  }
}

function claimedRun(client: Operations, claim: Claim): ClaimedRun {
  const { task, run } = claim
  const { fence } = run
  return {
    ...claim,
    heartbeat: async progress => {
      await client.heartbeat(task.id, run.id, { fence, ...defined({ progress }) })
    },
    succeed: result => client.succeed(task.id, run.id, { fence, ...defined({ result }) }),
    fail: (error, how = {}) => client.fail(task.id, run.id, { fence, error, ...how }),
    release: delayMs => client.release(task.id, run.id, { fence, ...defined({ delayMs }) }),
  }
}

/** Sends a publish. Unlike the client, it makes no key, so that a test without keys has the same ids each time. */
export function publishBy(send: Send, what: Publishable, given: readonly unknown[]) {
  if (isCanvas(what)) return post<CanvasAnswer>(send, 'publishCanvas', { ...Object(given[0]), ...what })
  return post<PublishAnswer>(send, 'publish', bodyOf(what, given))
}

export function claimBy(send: Send): (body: ClaimsBody) => Promise<ClaimsAnswer> {
  return body => post(send, 'claim', body)
}

function post<Answer>(
  send: Send,
  name: 'publish' | 'publishCanvas' | 'claim',
  body: object,
): Promise<Answer> {
  return send<Answer>(targetOf(name), { body })
}

/** What `publish` takes, as the client does: a definition or a name with its input and options, a canvas, or a body. */
export type Publishable = AnyDefinition | string | Canvas | PublishBody

/**
 * Refuses an input that the definition's schema does not accept, as the client does before it sends.
 *
 * @throws BatonError `invalid`, which names each wrong field.
 */
export async function checkInput(what: Publishable, input: unknown): Promise<void> {
  if (typeof what !== 'object' || !('kind' in what)) return
  const problems = await inputProblems(what.input, input)
  if (!problems) return
  throw illegal(`the input does not fit ${what.type}: ${textOf(problems)}`, { problems })
}
