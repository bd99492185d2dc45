import { describe, expect, it } from 'vitest'
import { generate } from '../generate/generate.ts'
import type { PlantedFault } from '../planted/planted-fault.ts'
import type { BrokenSeed } from '../simulate/play-seeds.ts'
import { SEED_ENDS } from '../simulate/player.ts'
import { simulate } from '../simulate/simulate.ts'
import { reportOf } from './report.ts'

/** Every task that succeeds triggers the fault. */
const REJECTING: PlantedFault = {
  name: 'a success leaves a rejection unhandled',
  spoil: system => ({
    ...system,
    tasks: {
      ...system.tasks,
      apply: async change => {
        if (change.after.state === 'succeeded') void Promise.reject(new Error('unhandled on purpose'))
        return system.tasks.apply(change)
      },
    },
  }),
}

async function firstBroken(planted: PlantedFault): Promise<BrokenSeed> {
  for (let seed = 1; ; seed++) {
    const { broken } = await simulate(generate(seed), { planted })
    if (broken) return { seed, verdict: broken }
  }
}

describe('the report of a broken seed', () => {
  it('states the promise, the smallest scenario, its history, and how to repeat it', async () => {
    const broken = await firstBroken(REJECTING)

    const report = await reportOf(broken, { planted: REJECTING })

    const lines = report.split('\n')
    expect(lines[0]).toMatch(
      /^Seed \d+ is broken: no exception and no rejection is left unhandled — Error: unhandled on purpose, at [\d.]+ s$/,
    )
    expect(lines.filter(line => /^ +[\d.]+ {2}publish /.test(line))).toHaveLength(1)
    expect(report).toContain('the weather is calm')
    expect(report).toMatch(/IS ANSWERED publish[\s\S]*BEGINS[\s\S]*CATCHES Error: unhandled on purpose/)
    expect(lines.at(-1)).toBe(`To repeat this: npm run simulate -- --seed ${broken.seed} --trace`)
  })

  it('is the same every time', async () => {
    const broken = await firstBroken(REJECTING)

    expect(await reportOf(broken, { planted: REJECTING })).toBe(
      await reportOf(broken, { planted: REJECTING }),
    )
  })

  it('does not play a seed again that ended its thread', async () => {
    const verdict = { invariant: SEED_ENDS, message: 'its thread exited with code 9', at: 0 }

    expect(await reportOf({ seed: 3, verdict })).toBe(
      'Seed 3 is broken: a seed plays to its end — its thread exited with code 9',
    )
  })
})
