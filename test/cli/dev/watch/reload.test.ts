import { expect, it } from 'vitest'
import { createReloader, type Reloading } from '../../../../cli/dev/watch/saves.ts'

/** A reloader whose work succeeds, unless the test says otherwise. */
function aReloader(work: Partial<Reloading>) {
  return createReloader({
    rebuild: async () => undefined,
    resynthesise: async () => undefined,
    onProblem: error => expect.unreachable(String(error)),
    ...work,
  })
}

/** Work that waits for the test, and how often it began and ran at the same time. */
function heldWork() {
  const gates: Array<() => void> = []
  const state = { begun: 0, together: 0, most: 0 }
  return {
    state,
    work: async () => {
      state.begun += 1
      state.together += 1
      state.most = Math.max(state.most, state.together)
      await new Promise<void>(resolve => void gates.push(resolve))
      state.together -= 1
    },
    let: (count = 1) => {
      for (const gate of gates.splice(0, count)) gate()
      return new Promise(resolve => setImmediate(resolve))
    },
  }
}

it('a change reaches the bundles first, and then the synthesis', async () => {
  const told: string[] = []
  const reloader = aReloader({
    rebuild: async files => void told.push(`bundle ${[...files]}`),
    resynthesise: async () => void told.push('synthesise'),
  })

  reloader.changed(new Set(['/a']))
  await reloader.idle()

  expect(told).toEqual(['bundle /a', 'synthesise'])
})

it('changes during a synthesis reach the bundles at once, and cause one more synthesis', async () => {
  const rebuilt: string[] = []
  const synthesis = heldWork()
  const reloader = aReloader({
    rebuild: async files => void rebuilt.push([...files].join(' ')),
    resynthesise: synthesis.work,
  })
  const settled = () => new Promise(resolve => setImmediate(resolve))

  reloader.changed(new Set(['/a']))
  await settled()
  reloader.changed(new Set(['/b']))
  await settled()
  reloader.changed(new Set(['/c']))
  await settled()

  expect(rebuilt).toEqual(['/a', '/b', '/c'])
  expect(synthesis.state.begun).toBe(1)
  await synthesis.let()
  expect(synthesis.state.begun).toBe(2)
  await synthesis.let()
  await reloader.idle()
  expect(synthesis.state).toEqual({ begun: 2, together: 0, most: 1 })
})

it('changes while bundles are made are taken together by the next run', async () => {
  const bundling = heldWork()
  const seen: string[][] = []
  const reloader = aReloader({
    rebuild: async files => {
      seen.push([...files])
      await bundling.work()
    },
  })

  for (const file of ['/a', '/b', '/c']) reloader.changed(new Set([file]))
  await bundling.let()
  await bundling.let()
  await reloader.idle()

  expect(seen).toEqual([['/a'], ['/b', '/c']])
})

it('what throws is told, and the next change is taken over all the same', async () => {
  const done: string[] = []
  const problems: string[] = []
  const reloader = aReloader({
    rebuild: async files => {
      done.push(`bundle ${[...files]}`)
      if (files.has('/a')) throw new Error('no such function')
    },
    resynthesise: async () => {
      done.push('synthesise')
      throw new Error('no such stack')
    },
    onProblem: error => void problems.push(String(error)),
  })

  for (const file of ['/a', '/b']) {
    reloader.changed(new Set([file]))
    await reloader.idle()
  }

  expect(done).toEqual(['bundle /a', 'synthesise', 'bundle /b', 'synthesise'])
  expect(problems.sort()).toEqual(['Error: no such function', 'Error: no such stack', 'Error: no such stack'])
})
