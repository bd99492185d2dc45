import type { Change, Expected } from '../../core/change.ts'
import { type Patch, patch } from '../../core/operate/patch.ts'
import { clears, type PatchedOptions, patchedOptions } from '../../core/options.ts'
import type { Task } from '../../core/task/task.ts'
import type { TypeConfiguration } from '../../core/types/task-type.ts'
import { webhookInputProblems } from '../../core/types/webhook.ts'
import { defined, type FieldProblem, illegal } from '../../core/values/values.ts'
import { readTask } from '../kernel/heads.ts'
import { transact } from '../kernel/kernel.ts'
import type { System } from '../kernel/system.ts'
import { flowProblems } from '../publish/resolve-flow.ts'
import { typeOptions } from '../publish/resolve-publication.ts'
import { asExpected, type OperateOutcome, outcomeOf } from './operate.ts'

/** The changes that a patch asks for. `delayMs` counts from now; null resets a field to the default of its type. */
export type PatchRequest = Omit<Patch, 'options' | 'allOptions' | 'removesDeadline' | 'priority'> & {
  readonly delayMs?: number
  readonly priority?: number | null
  readonly options?: PatchedOptions
}

export type PatchOutcome =
  | OperateOutcome<'finished' | 'stale'>
  | { readonly ok: false; readonly reason: 'invalid'; readonly problems: readonly FieldProblem[] }

/** Changes an open task. A request without fields changes nothing. */
export async function patchTask(
  system: System,
  id: string,
  request: PatchRequest,
  expected: Expected = {},
): Promise<PatchOutcome> {
  const head = await readTask(system, id)
  const isJudgedInput =
    request.input !== undefined && (system.checkInput !== undefined || head?.kind === 'webhook')
  const needsType = request.priority === null || clears(request.options ?? {}) || isJudgedInput
  const type = needsType && head ? await system.types.get(head.type) : undefined
  // A list that takes what was handed on is not the whole input.
  const isIncomplete = head?.previous !== undefined && Array.isArray(request.input)
  const inputProblems =
    type && isJudgedInput && !isIncomplete
      ? await system.checkInput?.(type.configuration, request.input)
      : undefined
  const decide = asExpected(system, expected, current =>
    decidePatch(current, request, { ...type, inputProblems }, system.clock.now()),
  )
  const { decision, head: task } = await transact(system, head, decide)
  if (!decision.ok && decision.reason === 'invalid') return decision
  return outcomeOf(decision, task)
}

/** The configuration of the task's type, if the request needs it, and the problems of the new input by the type's schema. */
type Judged = {
  readonly configuration?: TypeConfiguration
  readonly inputProblems: readonly FieldProblem[] | undefined
}

type PatchDecision =
  | { readonly ok: true; readonly change?: Change<Task> }
  | { readonly ok: false; readonly reason: 'finished'; readonly change?: undefined }
  | {
      readonly ok: false
      readonly reason: 'invalid'
      readonly problems: readonly FieldProblem[]
      readonly change?: undefined
    }

function decidePatch(
  task: Task,
  request: PatchRequest,
  { configuration, inputProblems = [] }: Judged,
  now: number,
): PatchDecision {
  if (task.state !== 'open') return { ok: false, reason: 'finished' }
  if (Object.keys(request).length === 0) return { ok: true }
  const { delayMs, options: given, priority: requestedPriority, ...plain } = request
  const defaults = configuration?.defaults ?? {}
  const problems = [...patchProblems(task, request, configuration), ...inputProblems]
  if (problems.length > 0) return { ok: false, reason: 'invalid', problems }
  const overlaid = optionChanges(task, given, defaults)
  if (!overlaid.ok) return { ...overlaid, reason: 'invalid' }
  const dueChange = delayMs === undefined ? {} : { dueAt: now + delayMs }
  const priority = requestedPriority === null ? (defaults.priority ?? 0) : requestedPriority
  const changes = { ...plain, ...(priority !== undefined && { priority }), ...dueChange, ...overlaid.changes }
  const patched = patch(task, changes, now)
  if (patched.ok) return patched
  if (patched.reason === 'finished') return { ok: false, reason: 'finished' }
  if (patched.reason === 'a-flow') throw illegal(`${task.id} is a flow and has no stage`)
  throw illegal(`${task.id} would list fewer workers than must succeed`)
}

type OptionChanges =
  | { readonly ok: true; readonly changes: Pick<Patch, 'options' | 'allOptions' | 'removesDeadline'> }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] }

/** The changed options. For a flow only deadline and retention change, since its other options belong to its present step. */
function optionChanges(
  { flow, options }: Task,
  given: PatchedOptions | undefined,
  defaults: TypeConfiguration['defaults'],
): OptionChanges {
  if (!given) return { ok: true, changes: {} }
  const typeDefaults = typeOptions({ defaults })
  if (!flow) {
    const all = patchedOptions(options, given, typeDefaults)
    return all.ok ? { ok: true, changes: { allOptions: all.options } } : all
  }
  const deadlineMs = given.deadlineMs === null ? typeDefaults.deadlineMs : given.deadlineMs
  const retentionMs = given.retentionMs === null ? typeDefaults.retentionMs : given.retentionMs
  const removesDeadline = given.deadlineMs === null && deadlineMs === undefined
  return {
    ok: true,
    changes: {
      options: defined({ deadlineMs, retentionMs }),
      ...(removesDeadline && { removesDeadline }),
    },
  }
}

function patchProblems(
  { flow }: Task,
  request: PatchRequest,
  configuration: TypeConfiguration | undefined,
): FieldProblem[] {
  const webhookProblems = configuration ? webhookInputProblems(configuration, request.input) : []
  return flow ? [...flowProblems(flow.definition.steps, request), ...webhookProblems] : webhookProblems
}
