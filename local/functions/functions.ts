import { type Answer, type Backend, type Call, errorAnswer, jsonAnswer, jsonOf } from '../gateway/call.ts'
import type { Assembly, Stack } from '../template/stack.ts'
import type { DeployedFunction, FunctionSetting, LocalFunction } from './local-function.ts'
import { createLocalFunction, isNameOf } from './local-function.ts'
import { EVENT_BYTES_MAX, LATER_EVENT_BYTES_MAX } from './sandbox.ts'
import { type Definition, isSameFunction, readFunction, readServiceTokens } from './spec.ts'

/**
 * Lambda: each function runs in its own processes (`sandbox.ts`, started with `bootstrap.ts`), one per concurrent invocation
 * (`pool.ts`). `spec.ts` reads a function from the template, and `lineage.ts` counts the invocations in a chain of messages.
 *
 * A function lives as long as the cloud has it. A deployment or `replaceCode` changes it in place (`local-function.ts`): new
 * invocations run in new processes, and those under way end in the old ones. During a deployment, custom resources already call
 * the next version of their function, which has a process of its own then.
 */

export type Functions = ReturnType<typeof createFunctions>

/** The functions of a stack that is being deployed. */
export type NextFunctions = ReturnType<typeof nextFunctions>

type Setting = FunctionSetting & {
  readonly maxSandboxes: number
}

export function createFunctions(setting: Setting) {
  const functions = new Map<string, DeployedFunction>()
  const leaving = new Set<DeployedFunction>()

  function leave(one: DeployedFunction) {
    functions.delete(one.logicalId)
    leaving.add(one)
    void one.leave().then(() => leaving.delete(one))
  }

  return {
    all: () => [...functions.values()],
    /** Finds a function by logical id, ARN, name, or a part of the logical id that only one function has. */
    find: (wanted: string) => findFunction([...functions.values()], wanted),
    /** Reads the functions of a stack that is being deployed. They run after `commit`. */
    next: (stack: Stack, assembly: Assembly, environment: Readonly<Record<string, string>>) =>
      nextFunctions({ stack, assembly, setting: { ...setting, environment }, functions, leave }),
    stop: async () => {
      await Promise.all([...functions.values(), ...leaving].map(one => one.stop()))
    },
  }
}

type Registry = {
  readonly stack: Stack
  readonly assembly: Assembly
  readonly setting: Setting & { readonly environment: Readonly<Record<string, string>> }
  readonly functions: Map<string, DeployedFunction>
  leave(one: DeployedFunction): void
}

/** What a deployment has read and started so far. */
type Deploying = Registry & {
  readonly ids: readonly string[]
  readonly definitions: Map<string, Definition>
  /** Functions that custom resources call, when the present deployment has none that is the same. */
  readonly called: Map<string, DeployedFunction>
  serviceTokens: ReadonlySet<unknown> | undefined
}

function nextFunctions(registry: Registry) {
  const { stack, functions } = registry
  const deploying: Deploying = {
    ...{ ...registry, ids: stack.ids('AWS::Lambda::Function'), serviceTokens: undefined },
    ...{ definitions: new Map(), called: new Map() },
  }
  const { ids, called } = deploying
  return {
    /** The logical id of a function of the next stack; undefined if it has none with this name, ARN or logical id. */
    idOf: (wanted: string) => idOf(deploying, wanted),
    /** Why a function of the next stack cannot run here. */
    unsupported: (logicalId: string) => definitionOf(deploying, logicalId).unsupported,
    /** Invokes a function as the next stack describes it. */
    invoke: async (wanted: string, event: unknown) => {
      const logicalId = idOf(deploying, wanted)
      if (logicalId === undefined) throw new Error(`There is no function ${wanted} in the stack`)
      return versionOf(deploying, logicalId).invoke(event)
    },
    /** Reads all functions. Throws when the code of one is missing. `report` receives those that cannot run here. */
    read: (report: (logicalId: string, reason: string) => void) => {
      for (const logicalId of ids) {
        const { unsupported } = definitionOf(deploying, logicalId)
        if (unsupported !== undefined) report(logicalId, unsupported)
      }
    },
    /** Replaces the present functions. Nothing in it can fail. */
    commit: () => commit(deploying),
    /** Ends the processes that served only this deployment. */
    end: async () => {
      const ended = [...called.values()].filter(one => functions.get(one.logicalId) !== one)
      await Promise.all(ended.map(one => one.stop()))
    },
  }
}

function definitionOf(deploying: Deploying, logicalId: string): Definition {
  const { stack, assembly, setting, definitions } = deploying
  const known = definitions.get(logicalId)
  if (known) return known
  deploying.serviceTokens ??= readServiceTokens(stack)
  const { serviceTokens } = deploying
  const read = readFunction(stack, assembly, logicalId, { ...setting, serviceTokens })
  definitions.set(logicalId, read)
  return read
}

function idOf({ ids, stack }: Deploying, wanted: string): string | undefined {
  return ids.find(logicalId => {
    const { physicalId, arn } = stack.describe(logicalId)
    return isNameOf({ logicalId, name: physicalId, arn }, wanted)
  })
}

function versionOf(deploying: Deploying, logicalId: string): DeployedFunction {
  const { functions, called, setting } = deploying
  const definition = definitionOf(deploying, logicalId)
  const present = functions.get(logicalId)
  if (present && isSameFunction(present.definition, definition)) return present
  const { inspect: _port, ...withoutInspector } = setting
  const made = called.get(logicalId) ?? createLocalFunction(definition, present ? withoutInspector : setting)
  called.set(logicalId, made)
  return made
}

function commit(deploying: Deploying): void {
  const { ids, functions, called, setting, leave } = deploying
  for (const one of [...functions.values()]) if (!ids.includes(one.logicalId)) leave(one)
  for (const logicalId of ids) {
    const definition = definitionOf(deploying, logicalId)
    const present = functions.get(logicalId)
    if (present) present.become(definition)
    else functions.set(logicalId, called.get(logicalId) ?? createLocalFunction(definition, setting))
  }
}

function findFunction(all: readonly LocalFunction[], wanted: string): LocalFunction {
  const exact = all.find(one => one.hasName(wanted))
  if (exact) return exact
  const lower = wanted.toLowerCase()
  const [only, second] = all.filter(({ logicalId }) => logicalId.toLowerCase().includes(lower))
  if (only && !second) return only
  const names = all.map(({ logicalId }) => logicalId).join(', ')
  throw new Error(
    `${second ? 'Several functions match' : 'There is no function'} ${wanted}; there are ${names}`,
  )
}

const invocation = /^\/2015-03-31\/functions\/([^/]+)\/invocations/

/** Lambda's Invoke, for functions that call others through the SDK (the CDK's provider framework does). */
export function createLambdaApi(functions: Functions): Backend {
  return async call => {
    const [, wanted] = invocation.exec(call.path) ?? []
    if (wanted === undefined) return errorAnswer(501, 'NotImplemented', `${call.method} ${call.path}`)
    const target = functions.all().find(({ name, arn }) => [name, arn].includes(decodeURIComponent(wanted)))
    if (!target) return errorAnswer(404, 'ResourceNotFoundException', `Function not found: ${wanted}`)
    return refusalOf(target, call) ?? (isLater(call) ? invokeLater(target, call) : invoke(target, call))
  }
}

/** The reason why Lambda does not invoke the function; undefined if it does. */
function refusalOf(target: LocalFunction, call: Call): Answer | undefined {
  if (target.refuses(chainOf(call)))
    return errorAnswer(400, 'RecursiveInvocationException', 'Lambda has detected a recursive loop')
  return sizeRefusal(call, isLater(call) ? LATER_EVENT_BYTES_MAX : EVENT_BYTES_MAX)
}

function isLater({ headers }: Call): boolean {
  return headers['x-amz-invocation-type'] === 'Event'
}

function invokeLater(target: LocalFunction, call: Call): Answer {
  target.invokeLater(jsonOf(call), chainOf(call))
  return jsonAnswer(202, {})
}

async function invoke(target: LocalFunction, call: Call): Promise<Answer> {
  const result = await target.invoke(jsonOf(call), chainOf(call))
  if (result.ok) return jsonAnswer(200, result.payload)
  return jsonAnswer(200, result.error, { 'x-amz-function-error': 'Unhandled' })
}

function sizeRefusal({ body }: Call, most: number): Answer | undefined {
  if (body.length < most) return undefined
  const message = `Request must be smaller than ${most} bytes for the InvokeFunction operation`
  return errorAnswer(413, 'RequestTooLargeException', message)
}

/** The trace header of the chain that a call belongs to. */
function chainOf({ headers }: Call): string | undefined {
  const trace = headers['x-amzn-trace-id']
  return typeof trace === 'string' ? trace : undefined
}
