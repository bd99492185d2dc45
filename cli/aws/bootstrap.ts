import { type Access, refused } from './call.ts'
import { callTarget } from './json-call.ts'
import type { BootstrapParameter } from './stacks.ts'

/**
 * Reads the version of the CDK's bootstrap in an account and a region. Undefined when there is none.
 *
 * @throws BatonError `refused` when the credentials may not read the parameter, `unavailable` when Systems Manager does not answer
 */
export async function readBootstrapVersion(
  { name }: BootstrapParameter,
  access: Access,
): Promise<string | undefined> {
  const answer = await callTarget<{ readonly Parameter: { readonly Value: string } }>(
    { service: 'ssm', target: 'AmazonSSM.GetParameter', protocol: '1.1', input: { Name: name } },
    access,
  )
  if ('found' in answer) return answer.found.Parameter.Value
  if (answer.refusal.code === 'ParameterNotFound') return undefined
  throw refused(`the parameter ${name}`, 'ssm:GetParameter', answer.refusal, access)
}
