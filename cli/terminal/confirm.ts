import { BatonError } from '../../shared/core/errors.ts'
import type { Io } from './io.ts'

/**
 * Asks a question that must be answered with `y` or `yes`. Any other answer, and the end of the input, mean no.
 *
 * @throws BatonError `invalid` when the input is no terminal, so that there is no answer.
 */
export async function confirm({ input, err }: Io, question: string): Promise<boolean> {
  if (!input.isTTY) throw new BatonError('invalid', `${question} Give --yes to go on without being asked.`)
  err.write(`${question} [y/N] `)
  return /^(y|yes)$/i.test((await firstLine(input)).trim())
}

async function firstLine(input: AsyncIterable<Uint8Array | string>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of input) {
    text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
    if (text.includes('\n')) break
  }
  return text.split('\n', 1)[0] ?? ''
}
