import * as api from '../../api/index.ts'
import { type ExpectedRevision, expectedRevision, type PageQuery, pageQuery } from '../../api/scalars.ts'
import { editsOf } from '../../core/change.ts'
import { configurationProblems, isTypeName, typeNameProblems } from '../../core/rules/type-configuration.ts'
import {
  orderingOf,
  type PurgeJob,
  shardsOf,
  type TaskType,
  type WebhookSettings,
} from '../../core/types/task-type.ts'
import { withoutUser } from '../../core/types/webhook.ts'
import { defined } from '../../core/values/values.ts'
import { PURGES_MAX, startPurge } from '../../runtime/jobs/sweep-purges.ts'
import type { System } from '../../runtime/kernel/system.ts'
import { countTasks } from '../../runtime/list/list-query.ts'
import { inputSchemaOf } from '../../runtime/types/input-schemas.ts'
import type { PutTypeOutcome } from '../../runtime/types/types.ts'
import { pauseType, putType, registeredNames, resumeType } from '../../runtime/types/types.ts'
import { type Answer, answerProblem, type Call, operationOf, pageByName, refuseCursor } from '../operation.ts'
import { invalid, problem, staleProblem, unknownType } from '../present/problems.ts'
import { iso, isoOf, presentOperations } from '../present/tasks.ts'

const operation = operationOf('Types')

export const typeOperations = [
  operation({
    name: 'listTypes',
    summary: 'List task types',
    description: 'Lists the registered types by their names.',
    cost: '1 read unit per 4 KB of all types.',
    answers: { 200: { description: 'One page of types.', schema: api.typePage } },
    query: pageQuery,
    handle: handleList,
  }),
  operation({
    name: 'getType',
    summary: 'Get a task type',
    description: 'Shows the configuration of the type, and whether it is paused.',
    cost: '1 read unit, and 1 per 4 KB of an `inputSchema` that the process has not read yet.',
    answers: { 200: { description: 'The type.', schema: api.typeAnswer } },
    problems: ['unknown-type'],
    handle: handleGet,
  }),
  operation({
    name: 'putType',
    summary: 'Create a task type, or replace its configuration',
    description:
      'Sets the whole configuration: what the body leaves out returns to its default. A paused type stays paused. Changed defaults hold for tasks that are published afterwards; limits and order hold at once. A type that was deployed changes its kind by a deployment only: another kind is refused with 409.',
    answers: {
      200: { description: 'The configuration was replaced.', schema: api.typeAnswer },
      201: { description: 'The type was created.', schema: api.typeAnswer, location: 'the type' },
    },
    problems: ['conflict', 'stale-revision'],
    recordedAs: 'put',
    body: api.typeBody,
    handle: handlePut,
  }),
  operation({
    name: 'pauseType',
    isAttending: true,
    summary: 'Pause a task type',
    description:
      'No run of the type starts after the answer. Runs under way continue. The call may be repeated.',
    answers: { 200: { description: 'The type is paused.', schema: api.pausedAnswer } },
    problems: ['unknown-type', 'stale-revision'],
    recordedAs: 'pause',
    body: expectedRevision,
    isBodyOptional: true,
    handle: call => handlePause(call, pauseType),
  }),
  operation({
    name: 'resumeType',
    isAttending: true,
    summary: 'Resume a task type',
    description: 'Ends a pause: the waiting tasks run, in the order of their type. The call may be repeated.',
    answers: { 200: { description: 'The type is not paused.', schema: api.pausedAnswer } },
    problems: ['unknown-type', 'stale-revision'],
    recordedAs: 'resume',
    body: expectedRevision,
    isBodyOptional: true,
    handle: call => handlePause(call, resumeType),
  }),
  operation({
    name: 'counts',
    summary: 'Count the tasks of a type',
    description: 'Counts the tasks by their status. Counts may lag 2 seconds behind.',
    cost: 'Half a read unit per 4 KB of index entries, some 50 tasks.',
    answers: { 200: { description: 'The number of tasks in each status.', schema: api.countsAnswer } },
    problems: ['unknown-type'],
    query: api.countsQuery,
    handle: handleCounts,
  }),
  operation({
    name: 'purge',
    isAttending: true,
    summary: 'Purge tasks of a type',
    description:
      'Removes the tasks in the given statuses, in the background. Ended tasks are removed if they ended before `before`, open ones if they were published before it. Removed tasks never run again.',
    cost: 'Some 30 write units for a small type; half a read unit for each task that the purge examines.',
    answers: { 202: { description: 'The purge has begun.', schema: api.purgeAnswer } },
    problems: ['unknown-type', 'conflict'],
    recordedAs: 'purge',
    body: api.purgeBody,
    handle: handlePurge,
  }),
]

async function handleList({ system, query }: Call<PageQuery, unknown>): Promise<Answer> {
  const page = pageByName(await system.types.list(), query, ({ type }) => type, isTypeName)
  if (!page) return refuseCursor()
  const items = await Promise.all(page.items.map(type => presentType(system, type)))
  return { status: 200, body: { ...page, items } }
}

type OneCall<Body> = Call<unknown, Body>

async function handleGet(call: OneCall<unknown>): Promise<Answer> {
  const type = await findType(call)
  return type ? { status: 200, body: await presentType(call.system, type) } : answerUnknown(call)
}

async function handleCounts(call: Call<api.CountsQuery, unknown>): Promise<Answer> {
  const type = await findType(call)
  if (!type) return answerUnknown(call)
  return { status: 200, body: await countTasks(call.system, type, call.query.atMost) }
}

async function handlePause(call: OneCall<ExpectedRevision>, change: typeof pauseType): Promise<Answer> {
  const { type = '' } = call.params
  if (!isTypeName(type)) return answerUnknown(call)
  const outcome = await change(call.system, type, call.body)
  if (outcome.ok)
    return { status: 200, body: { type, paused: outcome.type.paused, revision: editsOf(outcome.type) } }
  return outcome.reason === 'stale' ? answerProblem(staleProblem(type, outcome.type)) : answerUnknown(call)
}

/** Starts a purge. A `before` in the future would also remove tasks that are published later, so it is set to now. */
async function handlePurge(call: OneCall<api.PurgeBody>): Promise<Answer> {
  const { system, body } = call
  const type = await findType(call)
  if (!type) return answerUnknown(call)
  const askedAt = system.clock.now()
  const before = Math.min(askedAt, body.before === undefined ? askedAt : Date.parse(body.before))
  const statuses = [...new Set(body.status)]
  const started = await startPurge(system, type.type, { statuses, before, askedAt })
  if (!started.ok && started.reason === 'unknown') return answerUnknown(call)
  if (!started.ok) {
    const detail = `${type.type} already has ${PURGES_MAX} purges under way; try again when one of them is over`
    return answerProblem(problem('conflict', detail))
  }
  return { status: 202, body: { type: type.type, status: statuses, before: iso(before) } }
}

async function findType({ system, params: { type = '' } }: OneCall<unknown>) {
  return isTypeName(type) ? system.types.get(type) : undefined
}

async function answerUnknown({ system, params: { type = '' } }: OneCall<unknown>): Promise<Answer> {
  return answerProblem(unknownType(type, await registeredNames(system), 'type'))
}

async function handlePut(call: OneCall<api.TypeBody>): Promise<Answer> {
  const { system, params, body } = call
  const { type = '' } = params
  const problems = [...typeNameProblems(type, 'type'), ...configurationProblems(body)]
  if (problems.length > 0) return answerProblem(invalid(problems))
  const { defaults = {}, ifRevision, ...rest } = body
  const outcome = await putType(system, type, { ...rest, defaults }, defined({ ifRevision }))
  if (!outcome.ok) return answerProblem(putProblem(type, outcome))
  const shown = await presentType(system, outcome.type)
  return outcome.created
    ? { status: 201, body: shown, headers: { location: api.pathOf('getType', type) } }
    : { status: 200, body: shown }
}

function putProblem(type: string, refusal: Extract<PutTypeOutcome, { ok: false }>): api.Problem {
  switch (refusal.reason) {
    case 'invalid':
      return invalid(refusal.problems)
    case 'stale':
      return staleProblem(type, refusal.type)
    case 'fewer-shards': {
      const { shards } = refusal
      return problem('conflict', `${type} has ${shards} shards; they may only grow`, {
        errors: [{ path: 'shards', message: `must be at least ${shards}` }],
      })
    }
    case 'deployed-kind': {
      const { kind } = refusal
      const message = `must be "${kind}": the type is deployed with that kind, and only a deployment can change it`
      return problem('conflict', `kind of ${type} ${message}`, { errors: [{ path: 'kind', message }] })
    }
  }
}

/** A task type as the API shows it, with the system's defaults filled in. */
async function presentType(system: System, type: TaskType): Promise<api.ApiType> {
  const { kind, defaults, limits, webhook, steps, onCancel, schemaName, checkInput } = type.configuration
  return {
    ...defined({
      type: type.type,
      kind,
      defaults,
      ordering: orderingOf(type),
      limits,
      shards: shardsOf(type.configuration),
      events: type.configuration.events ?? false,
      webhook: webhook && shownWebhook(webhook),
      steps,
      onCancel: kind === 'flow' ? (onCancel ?? 'undo') : undefined,
      inputSchema: await inputSchemaOf(system, type.configuration),
      // The schema that a type of an earlier version contains is not compared.
      checkInput: checkInput ?? (schemaName === undefined ? undefined : true),
      otherTypes: type.otherTypes,
      purges: type.purges?.length ? type.purges.map(presentPurge) : undefined,
      paused: type.paused,
      handlerSince: isoOf(type.handlerSince),
      createdAt: iso(type.createdAt),
      updatedAt: iso(type.updatedAt),
      revision: editsOf(type),
    }),
    ...presentOperations(type),
  }
}

function presentPurge({ statuses, before, askedAt }: PurgeJob) {
  return { status: statuses, before: iso(before), askedAt: iso(askedAt) }
}

function shownWebhook(webhook: WebhookSettings): WebhookSettings {
  return webhook.url === undefined ? webhook : { ...webhook, url: withoutUser(webhook.url) }
}
