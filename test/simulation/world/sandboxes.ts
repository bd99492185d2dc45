import { isOutage } from '../../../shared/core/values/values.ts'
import type { PlanningSystem } from '../../../shared/runtime/kernel/system.ts'
import { createProcess, type Process } from './process.ts'
import type { World } from './world.ts'

/** What an invocation has: its process, the ports as that process reaches them, and its end. */
export type Sandbox = {
  readonly process: Process
  readonly system: PlanningSystem
  /** When the invocation times out, by the process's clock. */
  readonly endsAt: number
  readonly requestId: string
}

/**
 * The execution environments of Lambda functions. Each runs one invocation at a time and is frozen between two invocations,
 * so that work which an invocation left behind continues in a later one. An invocation that exceeds its timeout
 * kills its process.
 */
export type Sandboxes = {
  /**
   * Runs in a free environment of the function, or in a new one; undefined when its process died before it
   * ended.
   */
  invoke<T>(name: string, run: (sandbox: Sandbox) => Promise<T>): Promise<T | undefined>
}

type Warm = { readonly process: Process; readonly system: PlanningSystem; invocations: number }

/** After this many invocations an environment ends, as unused ones do, and all do after a deployment. */
const INVOCATIONS_MAX = 30

export function createSandboxes(
  world: World,
  settings: { readonly timeoutMs: number; readonly systemFor: (process: Process) => PlanningSystem },
): Sandboxes {
  const { timeline } = world
  const { invocations: invocationsMax = INVOCATIONS_MAX } = world.scenario.conditions ?? {}
  const free = new Map<string, Warm[]>()
  const made = new Map<string, number>()

  const take = (name: string): Warm => {
    const warm = free.get(name)?.pop()
    if (warm) {
      warm.process.thaw()
      if (warm.process.isAlive()) return warm
    }
    const number = (made.get(name) ?? 0) + 1
    made.set(name, number)
    const process = createProcess(world, `${name}-${number}`)
    return { process, system: settings.systemFor(process), invocations: 0 }
  }
  const giveBack = (name: string, warm: Warm) => {
    if (warm.invocations >= invocationsMax) return warm.process.kill('no longer needed')
    warm.process.freeze(Number.POSITIVE_INFINITY)
    free.set(name, [...(free.get(name) ?? []), warm])
  }

  return {
    invoke: (name, run) => {
      if (world.isOut('functions')) {
        world.history.note(timeline.now(), name, () => 'is not invoked: functions are out')
        return Promise.resolve(undefined)
      }
      const warm = take(name)
      const { process, system } = warm
      warm.invocations += 1
      return new Promise(resolve => {
        const endsAt = process.clock.now() + settings.timeoutMs
        const unexpected = (error: unknown) =>
          world.history.record({ at: timeline.now(), by: process.name, what: 'unexpected-error', error })
        const cancel = timeline.at(timeline.now() + settings.timeoutMs, () => {
          if (world.isLongCalm()) unexpected('the invocation took too long')
          process.kill('took too long')
        })
        const over: typeof resolve = value => {
          cancel()
          resolve(value)
        }
        process.onDeath(() => over(undefined))
        const requestId = `${process.name}.${warm.invocations}`
        run({ process, system, endsAt, requestId }).then(
          value => {
            if (!process.isAlive()) return
            over(value)
            giveBack(name, warm)
          },
          error => {
            if (!isOutage(error) || world.isLongCalm()) unexpected(error)
            process.kill(`failed: ${error}`)
          },
        )
      })
    },
  }
}
