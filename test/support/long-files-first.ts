import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The files that begin first, in this order. The simulation takes longest, and uses the processor whenever other files wait. Files
 * that boot systems take long and wait much. Those with clouds of their own begin while the system under test is synthesised. All
 * other files come last, because they are short and never wait.
 */
const FIRST = [
  /^test\/simulation\/seeds\.test/,
  /^test\/(local|infra\/functions|worker)\//,
  /^test\/system\//,
]

/** Orders the files of all projects so that both cores are busy until the end. Within a rank Vitest's own order holds. */
export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => groupOf(a) - groupOf(b) || rankOf(a) - rankOf(b))
  }
}

function groupOf({ project }: TestSpecification): number {
  return project.config.sequence.groupOrder
}

function rankOf({ moduleId, project }: TestSpecification): number {
  const file = moduleId.slice(project.config.root.length + 1)
  const rank = FIRST.findIndex(pattern => pattern.test(file))
  return rank < 0 ? FIRST.length : rank
}
