import { patchBody } from '../../../shared/api/changes.ts'
import { activityQuery } from '../../../shared/api/diagnosis/load.ts'
import { type PublishBody, publishBody } from '../../../shared/api/publish.ts'
import { claimsBody } from '../../../shared/api/runs.ts'
import { type ScheduleBody, scheduleBody } from '../../../shared/api/schedules.ts'
import { listQuery } from '../../../shared/api/tasks.ts'
import { typeBody } from '../../../shared/api/types.ts'
import type { FieldProblem } from '../../../shared/core/errors.ts'
import { unknownTypeProblem } from '../../../shared/core/rules/nearest.ts'
import type { Rule } from '../../../shared/core/rules/rules.ts'
import { priorityProblem } from '../../../shared/core/rules/signal-bounds.ts'
import { configurationProblems } from '../../../shared/core/rules/type-configuration.ts'
import type { TypeConfiguration } from '../../../shared/core/types/task-type.ts'
import type { Json } from '../../../shared/core/values/json.ts'
import { check } from '../../../shared/service/operation.ts'
import { fieldProblems, sizeProblem } from '../../../shared/service/requests/publish-requests.ts'
import { scheduleRequestOf } from '../../../shared/service/requests/schedule-requests.ts'
import { isTaskId } from '../../../shared/service/requests/task-ids.ts'
import type { RequestKind } from '../bound-requests.ts'

type Problems = readonly FieldProblem[]

/** The problems that the API finds in a request. It checks the fields first, and then what no rule says. */
export function problemsOf(kind: RequestKind, body: unknown, now: number): Problems {
  switch (kind) {
    case 'publish':
      return first(publishBody, body, () => furtherProblems(body as PublishBody, now))
    case 'patch':
      return first(patchBody, body, () => furtherProblems(body as PublishBody, now))
    case 'type':
      return first(typeBody, body, () => configurationProblems(body as TypeConfiguration))
    case 'schedule':
      return first(scheduleBody, body, () => ofSchedule(body as ScheduleBody, now))
    case 'claim':
      return first(claimsBody, body)
    case 'activity':
      return first(activityQuery, body)
    case 'list':
      return first(listQuery, body)
    default:
      return ofPart(kind, body as Part)
  }
}

function first(rule: Rule, body: unknown, further: () => Problems = () => []): Problems {
  const checked = check(rule, body)
  return checked.ok ? further() : checked.problems
}

function furtherProblems(body: PublishBody, now: number): Problems {
  const size = sizeProblem(body.input as Json | undefined, 'input')
  return [...fieldProblems(body, now), ...(size ? [size] : [])]
}

function ofSchedule(body: ScheduleBody, now: number): Problems {
  const read = scheduleRequestOf('a', body, now)
  return read.ok ? [] : read.problems
}

type Part = {
  readonly id: string
  readonly type: string
  readonly existing: readonly string[]
  readonly value: unknown
}

function ofPart(kind: 'task-id' | 'unknown-type' | 'priority', body: Part): Problems {
  switch (kind) {
    case 'task-id':
      return isTaskId(body.id) ? [] : [{ path: 'id', message: 'is not an id' }]
    case 'unknown-type':
      return [{ path: 'type', message: unknownTypeProblem(body.type, body.existing) }]
    case 'priority': {
      const message = priorityProblem(body.value)
      return message === undefined ? [] : [{ path: 'value', message }]
    }
  }
}
