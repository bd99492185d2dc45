import type { ScenarioKind } from '../generate/generate.ts'
import type { Replacement } from './changed-source.ts'

/** A fault of the source itself, as replacements of its text. */
export type SourceFault = {
  /** What the system does wrong, as a sentence. */
  readonly name: string
  readonly replacements: readonly Replacement[]
  /** The kind of scenario that shows it, where ordinary seeds draw that kind too rarely. @default all kinds */
  readonly needs?: ScenarioKind
  /** Why the fault harms nothing. Such a fault is not found. */
  readonly harmless?: string
}
