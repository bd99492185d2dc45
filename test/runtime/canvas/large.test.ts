import { expect, it } from 'vitest'
import { publishCanvas } from '../../../shared/runtime/canvas/publish-canvas.ts'
import type { Written } from '../../support/worlds/a-canvas-world.ts'
import { aCanvasWorld, add, published, shown, tell } from '../../support/worlds/a-canvas-world.ts'

it('a canvas of 100,000 tasks is stored in pages and shown at once', async () => {
  const system = await aCanvasWorld()
  const group: Written[] = Array.from({ length: 99_999 }, (_, n) => (n % 2 === 0 ? add(n) : tell(n)))

  const canvas = await published(system, { chord: { group, then: tell() } })

  const { status, counts, items } = await shown(system, canvas, { limit: 2 })
  expect(status).toBe('running')
  expect(counts).toMatchObject({ running: 99_999, pending: 1 })
  expect(items.map(({ path }) => path)).toEqual(['chord.group.0', 'chord.group.1'])
  expect(canvas.pages.length).toBeGreaterThan(5)
})

it('a larger canvas is refused', async () => {
  const system = await aCanvasWorld()
  const group: Written[] = Array.from({ length: 100_001 }, () => add(1))

  const refused = await publishCanvas(system, { composition: { group } })

  expect(refused).toMatchObject({ ok: false, reason: 'too-large' })
})
