import { defineTask } from '../../../shared/define/define-task.ts'
import type { RunContext } from '../../../shared/define/definitions.ts'
import { publish } from '../../../shared/runtime/publish/publish.ts'
import { sweep } from '../../../shared/runtime/sweep/sweep.ts'
import { createSweepMemory } from '../../../shared/runtime/sweep/sweep-round.ts'
import { registerHandlerType } from '../../../shared/runtime/types/types.ts'
import { createWorld } from '../../../shared/testing/world/world.ts'
import { MINUTE, NOW } from '../tasks/a-task.ts'

const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

type Config = Omit<Parameters<typeof defineTask>[1], 'run'>

/** A whole system in virtual time, with the type `mail`, whose runs end at once, and a sweeper every minute. */
export async function aLimitedWorld(config: Config, { seed = 1 } = {}) {
  const starts: Array<{ readonly at: number; readonly key: string }> = []
  const run = (_input: unknown, ctx: RunContext) =>
    void starts.push({ at: world.timeline.now() - NOW, key: ctx.key })
  const mail = defineTask('mail', { ...config, run } as Parameters<typeof defineTask>[1])
  const world = createWorld({
    ...{ definitions: [mail], start: NOW, seed, handlerPatienceMs: 60_000, log: SILENT },
    onHandlerLine: () => {},
  })
  await registerHandlerType(world.system, 'mail', mail.config)
  const { timeline, functions: system } = world
  const memory = createSweepMemory()
  const sweepAgain = () => {
    void sweep(system, memory)
    timeline.at(timeline.now() + MINUTE, sweepAgain)
  }
  timeline.at(timeline.now() + MINUTE, sweepAgain)
  return {
    ...{ world, system, starts },
    publish: async (parts: object) => {
      const outcome = await publish(world.system, { type: 'mail', ...parts } as never)
      if (!outcome.ok) throw new Error(JSON.stringify(outcome))
    },
    pass: (ms: number) => world.run(timeline.now() + ms),
    now: () => timeline.now() - NOW,
    startsIn: (from: number, to: number) => starts.filter(({ at }) => at >= from && at < to).length,
    /** Deploys the type with another configuration. The change is acknowledged while the time passes. */
    deploy: (changed: Config) =>
      void registerHandlerType(system, 'mail', defineTask('mail', { ...changed, run } as never).config),
  }
}

export type LimitedWorld = Awaited<ReturnType<typeof aLimitedWorld>>
