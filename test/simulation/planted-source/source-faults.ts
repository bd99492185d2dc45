import { ANSWER_FAULTS } from './faults/answers.ts'
import { LIMIT_FAULTS } from './faults/limits.ts'
import { PUBLISHING_FAULTS } from './faults/publishing.ts'
import { RUN_FAULTS } from './faults/runs.ts'
import { TABLE_FAULTS } from './faults/table.ts'
import type { SourceFault } from './source-fault.ts'

/**
 * Faults that are planted into the source. A planted fault that wraps a port (`../planted`) shows that an invariant works. These show
 * that the scenarios reach the line, too.
 */
export const SOURCE_FAULTS: readonly SourceFault[] = [
  ...LIMIT_FAULTS,
  ...RUN_FAULTS,
  ...PUBLISHING_FAULTS,
  ...TABLE_FAULTS,
  ...ANSWER_FAULTS,
]
