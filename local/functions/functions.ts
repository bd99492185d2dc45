/**
 * Lambda: each function runs in its own processes (`sandbox.ts`, started with `bootstrap.ts`), one per concurrent invocation
 * (`pool.ts`). `spec.ts` reads a function from the template, and `protocol.ts` has the messages of its processes. `lineage.ts`
 * counts the invocations in a chain of messages, and `lambda-api.ts` answers the Invoke call.
 *
 * A function lives as long as the cloud has it. A deployment or `replaceCode` changes it in place (`local-function.ts`): new
 * invocations run in new processes, and those under way end in the old ones. During a deployment, custom resources already call
 * the next version of their function, which has a process of its own then.
 */

import type { Stack } from '../template/stack.ts'
import type { Assembly } from '../template/template.ts'
import {
  createLocalFunction,
  type DeployedFunction,
  type FunctionSetting,
  isNameOf,
  type LocalFunction,
} from './local-function.ts'
import type { InvocationResult } from './sandbox.ts'
import { type Definition, isSameFunction, readFunction, readServiceTokens } from './spec.ts'

export type Functions = {
  all(): LocalFunction[]
  /** Finds a function by logical id, ARN, name, or a part of the logical id that only one function has. */
  find(wanted: string): LocalFunction
  /** Reads the functions of a stack that is being deployed. They run after `commit`. */
  next(stack: Stack, assembly: Assembly, environment: Readonly<Record<string, string>>): NextFunctions
  stop(): Promise<void>
}

/** The functions of a stack that is being deployed. */
export type NextFunctions = {
  /** The logical id of a function of the next stack; undefined if it has none with this name, ARN or logical id. */
  idOf(wanted: string): string | undefined
  /** Why a function of the next stack cannot run here. */
  unsupported(logicalId: string): string | undefined
  /** Invokes a function as the next stack describes it. */
  invoke(wanted: string, event: unknown): Promise<InvocationResult>
  /** Reads all functions. Throws when the code of one is missing. `report` receives those that cannot run here. */
  read(report: (logicalId: string, reason: string) => void): void
  /** Replaces the present functions. Nothing in it can fail. */
  commit(): void
  /** Ends the processes that served only this deployment. */
  end(): Promise<void>
}

type Setting = FunctionSetting & {
  readonly maxSandboxes: number
}

export function createFunctions(setting: Setting): Functions {
  const functions = new Map<string, DeployedFunction>()
  const leaving = new Set<DeployedFunction>()

  function leave(one: DeployedFunction) {
    functions.delete(one.logicalId)
    leaving.add(one)
    void one.leave().then(() => leaving.delete(one))
  }

  return {
    all: () => [...functions.values()],
    find: wanted => findFunction([...functions.values()], wanted),
    next: (stack, assembly, environment) =>
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

function nextFunctions({ stack, assembly, setting, functions, leave }: Registry): NextFunctions {
  const ids = stack.ids('AWS::Lambda::Function')
  const definitions = new Map<string, Definition>()
  /** Functions that custom resources call, when the present deployment has none that is the same. */
  const called = new Map<string, DeployedFunction>()
  let serviceTokens: ReadonlySet<unknown> | undefined

  function definitionOf(logicalId: string): Definition {
    const known = definitions.get(logicalId)
    if (known) return known
    serviceTokens ??= readServiceTokens(stack)
    const read = readFunction(stack, assembly, logicalId, { ...setting, serviceTokens })
    definitions.set(logicalId, read)
    return read
  }

  function idOf(wanted: string) {
    return ids.find(logicalId => {
      const { physicalId, arn } = stack.describe(logicalId)
      return isNameOf({ logicalId, name: physicalId, arn }, wanted)
    })
  }

  function versionOf(logicalId: string): DeployedFunction {
    const definition = definitionOf(logicalId)
    const present = functions.get(logicalId)
    if (present && isSameFunction(present.definition, definition)) return present
    const { inspect: _port, ...beside } = setting
    const made = called.get(logicalId) ?? createLocalFunction(definition, present ? beside : setting)
    called.set(logicalId, made)
    return made
  }

  return {
    idOf,
    unsupported: logicalId => definitionOf(logicalId).unsupported,
    invoke: async (wanted, event) => {
      const logicalId = idOf(wanted)
      if (logicalId === undefined) throw new Error(`There is no function ${wanted} in the stack`)
      return versionOf(logicalId).invoke(event)
    },
    read: report => {
      for (const logicalId of ids) {
        const { unsupported } = definitionOf(logicalId)
        if (unsupported !== undefined) report(logicalId, unsupported)
      }
    },
    commit: () => {
      for (const one of [...functions.values()]) if (!ids.includes(one.logicalId)) leave(one)
      for (const logicalId of ids) {
        const present = functions.get(logicalId)
        if (present) present.become(definitionOf(logicalId))
        else
          functions.set(
            logicalId,
            called.get(logicalId) ?? createLocalFunction(definitionOf(logicalId), setting),
          )
      }
    },
    end: async () => {
      const ended = [...called.values()].filter(one => functions.get(one.logicalId) !== one)
      await Promise.all(ended.map(one => one.stop()))
    },
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
