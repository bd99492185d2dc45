import type { Task } from '../../../shared/core/task/task.ts'
import type { Happening } from '../world/history.ts'
import { START } from '../world/world.ts'

/** A happening as a line of a trace. */
export function lineOf(happening: Happening): string {
  const time = ((happening.at - START) / 1_000).toFixed(3).padStart(10)
  return `${time}  ${happening.by.padEnd(18)}  ${textOf(happening)}`
}

/** Where an error was thrown, as far as it says. */
export function stackOf(error: unknown): string {
  return (error instanceof Error && error.stack) || String(error)
}

function textOf(happening: Happening): string {
  switch (happening.what) {
    case 'note':
      return happening.text
    case 'surprise':
      return `FAILS: ${happening.error}`
    case 'type': {
      const { type, paused, isFair, version, configuration } = happening.type
      const { limits, ordering } = configuration
      return `WRITES type ${type} v${version} ${JSON.stringify({ paused, isFair, limits, ordering })}`
    }
    case 'permit': {
      const { limit, holder, isHeld } = happening
      return `${isHeld ? 'RECORDS' : 'TAKES OFF'} holder ${holder} of ${limit}`
    }
    case 'reported':
      return `HAS RUN ${happening.id} (fence ${happening.fence}): ${happening.end}`
    case 'dispatched':
      return `SENDS a dispatch of ${happening.id} r${happening.revision}`
    case 'looked':
      return `TAKES a look at ${happening.id}`
    case 'refused':
      return `IS REFUSED: ${happening.why}`
    case 'expired':
      return `deletes ${happening.id}, which has expired`
    case 'sent':
      return 'takes a message'
    case 'write': {
      const { after } = happening
      const runs = Object.values(after.live).map(({ fence, workerId }) => `${fence} by ${workerId}`)
      return `WRITES ${after.operation} ${after.id} r${after.revision} ${after.state}${pieceOf(after)} due ${after.dueAt - START} fence ${after.fence} live [${runs.join(', ')}] failures ${after.failures}`
    }
    case 'answer': {
      const { task: _task, ...rest } = { task: undefined, ...happening.answer }
      return `IS ANSWERED ${happening.step.do} ${JSON.stringify(rest)}`
    }
    case 'told': {
      const { said, refused, id, fence } = happening
      const answer = refused === undefined ? 'counts' : `does not count: ${refused}`
      return `IS TOLD that ${JSON.stringify(said)} of ${id} (fence ${fence}) ${answer}`
    }
    case 'began': {
      const { id, fence, piece, workerId } = happening
      return `BEGINS ${id}${piece === undefined ? '' : ` at ${piece}`} (fence ${fence}) as ${workerId}`
    }
    case 'delivered':
      return `TAKES a dispatch of ${happening.task.id} r${happening.task.revision}${pieceOf(happening.task)}`
  }
}

/** Where in its flow or stages a task is, and whether it owes anything. */
function pieceOf({ flow, stage, owes }: Task): string {
  const states = Object.entries(flow?.steps ?? {}).map(([at, { state }]) => `${at} ${state}`)
  const piece = flow ? ` at ${flow.direction} ${flow.at} (${states.join(', ')})` : stage && ` at ${stage}`
  return `${piece ?? ''}${owes ? ' owing' : ''}`
}
