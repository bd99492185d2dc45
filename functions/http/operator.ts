import { PRINCIPAL_CHARACTERS_MAX } from '../../shared/core/bounds.ts'

/** What API Gateway says of the request's caller, by the kind of its authorizer. */
export type RequestContext = {
  readonly requestId?: string
  readonly authorizer?: {
    readonly iam?: { readonly userArn?: string }
    readonly jwt?: { readonly claims?: { readonly sub?: unknown } }
  }
}

/** Of an API that anyone may call. */
const ANONYMOUS = 'anonymous'

/** The principal that a request comes from: the ARN of an IAM principal, the subject of a token, or the local user. */
export function principalOf({ authorizer }: RequestContext = {}): string {
  const sub = authorizer?.jwt?.claims?.sub
  const named = authorizer?.iam?.userArn ?? (typeof sub === 'string' ? sub : undefined)
  return (named ?? ANONYMOUS).slice(0, PRINCIPAL_CHARACTERS_MAX).toWellFormed()
}
