import type { End } from '../../../shared/core/task/head-fields.ts'
import type { Canvas } from './a-canvas.ts'

/** A slow and literal model of the specification of canvases. Tests compare the tree with it. */

export type Model =
  | { kind: 'leaf'; leaf: number }
  | { kind: 'chain' | 'group'; members: Model[] }
  | { kind: 'chord'; group: Model; callback: Model; onError?: Model }

export function modelOf(canvas: Canvas, next = { leaf: 0 }): Model {
  if ('leaf' in canvas) return { kind: 'leaf', leaf: next.leaf++ }
  if ('chain' in canvas) return { kind: 'chain', members: canvas.chain.map(one => modelOf(one, next)) }
  if ('group' in canvas) return { kind: 'group', members: canvas.group.map(one => modelOf(one, next)) }
  const { group, then, onError } = canvas.chord
  return {
    kind: 'chord',
    group: modelOf({ group }, next),
    callback: modelOf(then, next),
    ...(onError && { onError: modelOf(onError, next) }),
  }
}

type Ends = (leaf: number) => End | undefined
type Progress = { status: 'running' | End; failure?: number; started: number[] }

const RUNNING: Progress = { status: 'running', started: [] }

/** The state of a started part of a canvas. */
export function progressOf(model: Model, ends: Ends): Progress {
  switch (model.kind) {
    case 'leaf': {
      const end = ends(model.leaf)
      const failure = end === 'failed' ? { failure: model.leaf } : {}
      return { status: end ?? 'running', started: [model.leaf], ...failure }
    }
    case 'chain':
      return standOfChain(model.members, ends)
    case 'group': {
      const members = model.members.map(member => progressOf(member, ends))
      const started = members.flatMap(member => member.started)
      if (members.some(({ status }) => status === 'running')) return { status: 'running', started }
      const failed = members.find(({ status }) => status === 'failed')
      return failed ? { ...failed, started } : { status: 'succeeded', started }
    }
    case 'chord':
      return standOfChord(model, ends)
  }
}

function standOfChain(members: readonly Model[], ends: Ends): Progress {
  const started: number[] = []
  for (const member of members) {
    const one = progressOf(member, ends)
    started.push(...one.started)
    if (one.status !== 'succeeded') return { ...one, started }
  }
  return { status: 'succeeded', started }
}

function standOfChord({ group, callback, onError }: Extract<Model, { kind: 'chord' }>, ends: Ends): Progress {
  const members = progressOf(group, ends)
  if (members.status === 'running') return members
  if (members.status === 'succeeded') {
    const after = progressOf(callback, ends)
    return { ...after, started: [...members.started, ...after.started] }
  }
  if (!onError) return members
  const after = progressOf(onError, ends)
  const started = [...members.started, ...after.started]
  return after.status === 'running' ? { ...RUNNING, started } : { ...members, started }
}
