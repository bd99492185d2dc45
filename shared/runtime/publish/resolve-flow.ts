import { FLOW_DEFINITION_BYTES_MAX } from '../../core/bounds.ts'
import { definitionName } from '../../core/flow/flow.ts'
import type { PartialOptions, PatchedOptions } from '../../core/options.ts'
import { DEFAULT_OPTIONS, overlaidOptions } from '../../core/options.ts'
import { flowOptionProblems } from '../../core/rules/rules.ts'
import type { FlowDefinition, Step, StepAction } from '../../core/task/flow-state.ts'
import type { StepActionConfiguration, StepConfiguration, TaskType } from '../../core/types/task-type.ts'
import { defaultOrdering, shardsOf } from '../../core/types/task-type.ts'
import { defined, type FieldProblem, type Json } from '../../core/values/values.ts'
import { processMemory } from '../kernel/system.ts'
import type { TypeReader } from '../types/type-cache.ts'

export type ResolvedFlow =
  | { readonly ok: true; readonly definition: FlowDefinition }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] }

/**
 * Resolves the steps of a flow type: the type of each step, and its options. Options of a step override the
 * defaults of its type; the defaults of the flow itself apply to the flow as a whole. Problems name the flow's
 * type, since a caller that publishes cannot change its steps.
 */
export function resolveFlow(typeOf: TypeReader, type: TaskType): Promise<ResolvedFlow> {
  const known = resolvedBy(typeOf)
  const resolving = known.get(type.type) ?? resolve(typeOf, type)
  known.set(type.type, resolving)
  return resolving
}

/** A batch reader reads each type once, so the steps of a flow are resolved once for all tasks of the batch: thousands, in a canvas. */
const resolvedBy = processMemory(() => new Map<string, Promise<ResolvedFlow>>())

async function resolve(typeOf: TypeReader, { type, configuration }: TaskType): Promise<ResolvedFlow> {
  const problems: FieldProblem[] = []
  const steps = await Promise.all(
    (configuration.steps ?? []).map(step => resolveStep(typeOf, step, problems)),
  )
  if (problems.length > 0)
    return { ok: false, problems: problems.map(({ message }) => aboutFlow(type, message)) }
  const { onCancel = 'undo' } = configuration
  const content = { steps: steps.filter(step => step !== undefined), onCancel }
  const definition = { name: definitionName(content), ...content }
  const bytes = escapedBytes(definition)
  if (bytes <= FLOW_DEFINITION_BYTES_MAX) return { ok: true, definition }
  const message = `its steps take ${bytes} bytes with the options of their types; at most ${FLOW_DEFINITION_BYTES_MAX} fit into a message`
  return { ok: false, problems: [aboutFlow(type, message)] }
}

/** The size of the definition in a message, where a character that is not ASCII takes six. */
function escapedBytes(definition: FlowDefinition): number {
  return JSON.stringify(definition).replace(/[\u007f-\uffff]/g, '\\u0000').length
}

function aboutFlow(type: string, message: string): FieldProblem {
  return { path: 'type', message: `'${type}' is a flow that cannot run: ${message}` }
}

async function resolveStep(
  typeOf: TypeReader,
  step: StepConfiguration,
  problems: FieldProblem[],
): Promise<Step | undefined> {
  const [doing, undoing] = await Promise.all([
    resolveAction(typeOf, step, 'do', step.do, problems),
    step.undo && resolveAction(typeOf, step, 'undo', step.undo, problems),
  ])
  return doing && { name: step.name, do: doing, ...(undoing && { undo: undoing }) }
}

async function resolveAction(
  typeOf: TypeReader,
  { name }: StepConfiguration,
  direction: 'do' | 'undo',
  action: StepActionConfiguration,
  problems: FieldProblem[],
): Promise<StepAction | undefined> {
  const refuse = (message: string) => {
    problems.push({ path: `steps.${name}.${direction}`, message })
    return undefined
  }
  const type = await typeOf(action.type)
  if (!type) return refuse(`its step '${name}' names '${action.type}', which is not registered`)
  const { kind, defaults, ordering = defaultOrdering(kind) } = type.configuration
  if (kind === 'flow') return refuse(`its step '${name}' names '${action.type}', which is a flow itself`)
  const options = optionsOf(defaults, action)
  if (options.ok && options.options.concurrency > 1) {
    return refuse(
      `its step '${name}' names '${action.type}', whose tasks are for several workers; a step is for one`,
    )
  }
  if (options.ok && options.options.workerIds.length > 0) {
    return refuse(`its step '${name}' names '${action.type}', whose tasks list workerIds; steps cannot`)
  }
  if (!options.ok) return refuse(`the options of its step '${name}': ${problemText(options.problems)}`)
  return {
    type: action.type,
    kind,
    ordering,
    shards: shardsOf(type.configuration),
    ...(type.isFair && { isFair: true as const }),
    options: options.options,
    ...(action.input !== undefined && { input: action.input }),
  }
}

function optionsOf(
  { priority: _priority, ...defaults }: PartialOptions & { readonly priority?: number },
  { timeoutMs, deadlineMs, retry }: StepActionConfiguration,
) {
  const base = overlaidOptions(DEFAULT_OPTIONS, defaults)
  const given: PartialOptions = {
    ...defined({ timeoutMs, deadlineMs }),
    ...(retry && { retry }),
  }
  return base.ok ? overlaidOptions(base.options, given) : base
}

export function problemText(problems: readonly FieldProblem[]): string {
  return problems.map(({ path, message }) => `${path} ${message}`).join('; ')
}

/** Problems of what a publish or a patch of a flow asks for. */
export function flowProblems(
  steps: ReadonlyArray<{ readonly name: string }>,
  { options = {}, input, stage }: { options?: PatchedOptions; input?: Json; stage?: string },
): FieldProblem[] {
  const hasStage = stage !== undefined
  return [
    ...flowOptionProblems(options),
    ...inputProblems(steps, input),
    ...(hasStage ? [{ path: 'stage', message: 'is only for tasks that are not flows' }] : []),
  ]
}

/** Problems of a flow's input. It must be an object, and no field may have the name of a step: the step's result is stored there. */
function inputProblems(
  steps: ReadonlyArray<{ readonly name: string }>,
  input: Json | undefined,
): FieldProblem[] {
  if (input === undefined) return []
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    return [{ path: 'input', message: 'must be an object: the results of the steps are added to it' }]
  }
  return steps
    .filter(({ name }) => Object.hasOwn(input, name))
    .map(({ name }) => ({
      path: `input.${name}`,
      message: 'is the name of a step, whose result will be there',
    }))
}
