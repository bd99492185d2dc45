import { isFaultOfOne } from '../core/errors.ts'

/**
 * Why one of several could not be published, where that is about it alone: it is refused, and the others go on.
 *
 * @throws the error itself otherwise: what became of the publish is not known.
 */
export function faultOf(error: unknown): string {
  if (!isFaultOfOne(error)) throw error
  return error instanceof Error ? error.message : String(error)
}
