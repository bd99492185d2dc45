import type { Command } from 'commander'
import type { ListFilter } from '../../shared/api/tasks.ts'
import { BatonError } from '../../shared/core/errors.ts'
import { STATUSES } from '../../shared/core/states.ts'
import { someOf } from '../command.ts'

/** The options that say which tasks are meant. */
export type FilterOptions = {
  readonly type?: string
  readonly status?: ReadonlyArray<(typeof STATUSES)[number]>
  readonly userId?: string
  readonly canvasId?: string
}

export function addFilterOptions(command: Command): void {
  command
    .option('--type <type>', 'tasks of this type')
    .option(
      '--status <status>',
      `tasks with this status: ${STATUSES.join(', ')}; may be repeated`,
      someOf(STATUSES),
    )
    .option('--user-id <id>', 'tasks of this user')
    .option('--canvas-id <id>', 'tasks of this canvas')
}

/**
 * Makes the filter of a list from the options.
 *
 * @throws BatonError `invalid` when the options name neither a type nor a user nor a canvas.
 */
export function filterOf({ type, status, userId, canvasId }: FilterOptions): ListFilter {
  if (type === undefined && userId === undefined && canvasId === undefined) {
    throw new BatonError(
      'invalid',
      'name a type, or give --user-id or --canvas-id: tasks are listed by one of them',
    )
  }
  return {
    ...(type !== undefined && { type }),
    ...(userId !== undefined && { userId }),
    ...(canvasId !== undefined && { canvasId }),
    ...(status !== undefined && { status: [...status] }),
  }
}
