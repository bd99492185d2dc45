/** The failed records of a batch, as the function reports them under `ReportBatchItemFailures`. */
export type BatchOutcome =
  | { readonly kind: 'all-succeeded' }
  | { readonly kind: 'all-failed' }
  | { readonly kind: 'some-failed'; readonly identifiers: ReadonlySet<string> }

/**
 * Reads the answer as the service does. An answer without a list of failures, even a malformed one, is a success of the whole
 * batch. An entry without a known identifier is a failure of the whole batch.
 * https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
 */
export function readBatchFailures(answer: unknown, known: ReadonlySet<string>): BatchOutcome {
  const failures = (answer as { batchItemFailures?: unknown } | null | undefined)?.batchItemFailures
  if (!Array.isArray(failures) || failures.length === 0) return { kind: 'all-succeeded' }
  const identifiers = failures.map(entry => (entry as { itemIdentifier?: unknown } | null)?.itemIdentifier)
  const allKnown = identifiers.every(identifier => typeof identifier === 'string' && known.has(identifier))
  if (!allKnown) return { kind: 'all-failed' }
  return { kind: 'some-failed', identifiers: new Set(identifiers as string[]) }
}
