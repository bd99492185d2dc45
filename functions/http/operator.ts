import { PRINCIPAL_CHARACTERS_MAX } from '../../shared/core/bounds.ts'

/** The parts of API Gateway's request context that Baton reads. The kind of authorizer decides which member names the caller. */
export type RequestContext = {
  readonly requestId?: string
  readonly authorizer?: {
    readonly iam?: { readonly userArn?: string }
    readonly jwt?: { readonly claims?: { readonly sub?: unknown } }
  }
}

/** The principal of callers of an API without an authorizer, such as the local one. */
const ANONYMOUS = 'anonymous'

/** The principal of a request: the ARN of an IAM principal, the subject of a token, or `anonymous`. */
export function principalOf({ authorizer }: RequestContext = {}): string {
  const sub = authorizer?.jwt?.claims?.sub
  const named = authorizer?.iam?.userArn ?? (typeof sub === 'string' ? sub : undefined)
  return (named ?? ANONYMOUS).slice(0, PRINCIPAL_CHARACTERS_MAX).toWellFormed()
}
