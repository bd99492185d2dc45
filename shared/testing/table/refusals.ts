/** DynamoDB refuses the request, whatever its code: it would answer with a `ValidationException`. */
export class RefusedRequest extends Error {
  override readonly name = 'ValidationException'
}

/** The table in memory does not know a part of the request. DynamoDB may know it. */
export class UnknownPart extends Error {
  override readonly name = 'UnknownPart'
  constructor(part: string) {
    super(`the table in memory does not know ${part}`)
  }
}
