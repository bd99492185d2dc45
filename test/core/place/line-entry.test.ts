import { describe, expect, it } from 'vitest'
import { endWait, joinLine } from '../../../shared/core/limits/limits.ts'
import { patch } from '../../../shared/core/operate/patch.ts'
import { turnOrder } from '../../../shared/core/place/claim-order.ts'
import { lineEntry, movedToTurn } from '../../../shared/core/place/place.ts'
import { create } from '../../../shared/core/publish/publish.ts'
import { update } from '../../../shared/core/publish/update.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { aPublication, aRun, aTask, BORN, changeOf, NOW, SECOND } from '../../support/tasks/a-task.ts'

const FAIR = { kind: 'http', ordering: 'arrival', fairnessKey: 'a' } as const
const LINE = { type: 'resize' }
const standing = (name: string, parts: Partial<Task> = {}): Task =>
  aTask({ ...FAIR, ...parts, place: { name, order: turnOrder(LINE, 7) } } as never)
const WAITING = standing('ready#resize#0')
const BLOCKED = standing('limit#resize=x', { wait: { kind: 'permit', limit: 'resize=x' } })
const running = aTask({ ...FAIR, live: [aRun()] } as never)
const released = finish(running, { born: BORN, fence: 1, outcome: 'release' }, NOW + 1, 0)

describe('a task of a tenant', () => {
  it.each([
    ['is new and due', create(aPublication(FAIR), undefined, NOW), {}],
    ['is released', changeOf(released), {}],
    ['returns from the place of a limit', changeOf(endWait(BLOCKED, NOW)), { keptTurn: 7 }],
  ])('enters its line when it %s', (_when, change, more) => {
    expect(lineEntry(change.before, change.after)).toEqual({ line: LINE, tenant: 'a', ...more })
    expect(movedToTurn(change.after, LINE, 9).place).toEqual({
      name: 'ready#resize#0',
      order: turnOrder(LINE, 9),
    })
  })

  it.each([
    ['is not due', create(aPublication({ ...FAIR, dueAt: NOW + SECOND }), undefined, NOW)],
    ['is patched while it waits', changeOf(patch(WAITING, { tags: {} }, NOW))],
    ['is published anew while it waits', changeOf(update(WAITING, aPublication(FAIR), NOW))],
  ])('does not enter its line when it %s', (_when, change) => {
    expect(lineEntry(change.before, change.after)).toBeUndefined()
  })

  it('enters a line again when its priority or its tenant changes', () => {
    const byPriority = aTask({ kind: 'http', ordering: 'priority', fairnessKey: 'a' })
    const patched = changeOf(patch(byPriority, { priority: 3 }, NOW))
    const renamed = changeOf(update(WAITING, aPublication({ ...FAIR, fairnessKey: 'b' }), NOW))

    expect(lineEntry(patched.before, patched.after)).toEqual({
      line: { type: 'resize', priority: 3 },
      tenant: 'a',
    })
    expect(lineEntry(renamed.before, renamed.after)).toEqual({ line: LINE, tenant: 'b' })
  })

  it('keeps its turn in the place of a limit', () => {
    expect(changeOf(joinLine(WAITING, { kind: 'permit', limit: 'resize=x' }, NOW)).after.place).toEqual({
      name: 'limit#resize=x#permit#0',
      order: turnOrder(LINE, 7),
    })
  })
})
