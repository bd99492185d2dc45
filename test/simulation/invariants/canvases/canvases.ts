import { jobsIn } from '../../jobs-in.ts'
import type { Step } from '../../scenario.ts'
import type { SeenHead } from '../../world/seen-head.ts'
import type { Invariant } from '../invariant.ts'
import { isCreation, nonceOf } from '../publishing/tags.ts'
import { type End, type Part, standingOf, startable } from './canvas-model.ts'

/** The state of one birth of a canvas, as the writes of its members show it. */
type Canvas = {
  readonly part: Part
  readonly ends: Map<number, End>
  readonly begun: Set<number>
  isCancelled: boolean
}

/** Promises about canvases: which members start when, and how a canvas ends. */
export const CANVAS_INVARIANTS: readonly Invariant[] = [
  {
    name: 'a member of a canvas is published once, and only after the ends that it waits for',
    watch: ({ steps }) => {
      const known = trackCanvases(steps)
      return {
        on: event => {
          if (event.what !== 'write') return undefined
          const { before, after } = event
          const canvas = known.of(after)
          const fault = canvas && faultOfStart(canvas, before, after)
          known.see(before, after)
          return fault
        },
      }
    },
  },
  {
    name: 'the end of a canvas follows from the first ends of its members, unless it is cancelled',
    watch: ({ steps }) => {
      const known = trackCanvases(steps)
      return {
        on: event => {
          if (event.what !== 'write') return undefined
          const { before, after } = event
          known.see(before, after)
          if (!after.canvas || before?.state !== 'open' || after.state === 'open') return undefined
          const canvas = known.named(after.key, after.born)
          const expected = canvas && standingOf(canvas.part, canvas.ends)
          return after.state === 'cancelled' || after.state === expected
            ? undefined
            : `${after.id} has ${after.state}, but its members make it ${expected}`
        },
      }
    },
  },
  {
    name: 'no member of a canvas is claimed after the cancel of the whole canvas, except for undos',
    watch: ({ steps }) => {
      const known = trackCanvases(steps)
      const restarted = new Set<string>()
      return {
        on: event => {
          if (event.what !== 'write') return undefined
          const { before, after } = event
          known.see(before, after)
          if (after.operation === 'restart' || after.operation === 'resume') restarted.add(after.id)
          const isClaim = after.operation === 'claim' && after.flow?.direction !== 'undo'
          return isClaim && known.of(after)?.isCancelled && !restarted.has(after.id)
            ? `${after.id} was claimed after its canvas was cancelled`
            : undefined
        },
      }
    },
  },
  {
    name: 'a cancelled canvas leaves none of its members open',
    watch: () => {
      const restarted = new Set<string>()
      return {
        on: event => {
          if (event.what !== 'write') return undefined
          const { id, operation } = event.after
          if (operation === 'restart' || operation === 'resume') restarted.add(id)
          return undefined
        },
        atEnd: heads => {
          const cancelled = new Set(
            heads.flatMap(({ canvas, state, born }) => (canvas && state === 'cancelled' ? [born] : [])),
          )
          const open = heads.find(
            ({ id, member, state }) =>
              member && state === 'open' && cancelled.has(member.born) && !restarted.has(id),
          )
          return open && `${open.id} is open, although its canvas was cancelled`
        },
      }
    },
  },
]

/** Tracks the state of each canvas. `see` must get every write. */
export function trackCanvases(steps: readonly Step[]) {
  const parts = new Map(
    steps.flatMap(step => (step.do === 'publish-canvas' ? [[step.canvas, step.composition] as const] : [])),
  )
  const canvases = new Map<string, Canvas>()
  const nonces = new Map<string, number>()
  const named = (key: string, born: string): Canvas | undefined => {
    const name = `${key} ${born}`
    const part = parts.get(key)
    if (!canvases.has(name) && part)
      canvases.set(name, { part, ends: new Map(), begun: new Set(), isCancelled: false })
    return canvases.get(name)
  }
  const of = ({ member }: SeenHead) => member && named(member.canvasId, member.born)
  return {
    named,
    of,
    see: (before: SeenHead | undefined, after: SeenHead) => {
      if (isAllCancelled(after)) markCancelled(named(after.key, after.born))
      const canvas = of(after)
      const nonce = nonceOf(after) ?? nonces.get(after.id)
      if (!canvas || nonce === undefined) return
      nonces.set(after.id, nonce)
      if (before?.born !== after.born) canvas.begun.add(nonce)
      if (after.state !== 'open') canvas.ends.set(nonce, canvas.ends.get(nonce) ?? endOf(after))
    },
  }
}

function endOf({ state }: SeenHead): End {
  return state === 'succeeded' ? 'succeeded' : 'failed'
}

/** Whether a canvas is cancelled with all its members. */
function isAllCancelled({ canvas, state, owes }: SeenHead): boolean {
  return canvas !== undefined && state === 'cancelled' && !owes
}

function markCancelled(canvas: Canvas | undefined): void {
  if (canvas) canvas.isCancelled = true
}

function faultOfStart(canvas: Canvas, before: SeenHead | undefined, after: SeenHead): string | undefined {
  const nonce = nonceOf(after)
  if (!isCreation(before, after) || nonce === undefined) return undefined
  if (canvas.begun.has(nonce)) return `${after.id} is published a second time`
  if (canvas.isCancelled) return `${after.id} is published after its canvas was cancelled`
  if (!jobsIn(canvas.part).some(job => job.nonce === nonce))
    return `${after.id} is not a member of its canvas`
  return startable(canvas.part, canvas.ends).includes(nonce)
    ? undefined
    : `${after.id} is published before the ends that it waits for`
}
