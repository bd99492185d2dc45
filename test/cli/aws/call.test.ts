import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation'
import { GetParameterCommand, SSMClient } from '@aws-sdk/client-ssm'
import { describe, expect, it } from 'vitest'
import { type Access, call } from '../../../cli/aws/call.ts'

/** What a failed call of a service in XML and of one in JSON comes to. */

type Page = { readonly status: number; readonly body: string; readonly headers?: Record<string, string> }

/** Sends one call whose tries are all answered with the page. Says how many tries there were. */
async function answered(service: keyof typeof SENDERS, { status, body, headers = {} }: Page) {
  let tries = 0
  const fetch = async () => {
    tries += 1
    return new Response(body, { status, headers })
  }
  const credentials = async () => ({ accessKeyId: 'AKID', secretAccessKey: 'secret' })
  const answer = await SENDERS[service]({ region: 'us-east-1', credentials, io: { env: {}, fetch } })
  return { answer, tries }
}

const SENDERS = {
  cloudformation: (access: Access) =>
    call('cloudformation:DescribeStacks', access, settings =>
      new CloudFormationClient(settings).send(new DescribeStacksCommand({})),
    ),
  ssm: (access: Access) =>
    call('ssm:GetParameter', access, settings =>
      new SSMClient(settings).send(new GetParameterCommand({ Name: 'x' })),
    ),
}
const SERVICES = ['cloudformation', 'ssm'] as const

const LONG_PAGE = `<html>\n <body>${'Access to this site is blocked. '.repeat(20)}</body></html>`

describe.each(SERVICES)('a call of %s', service => {
  it.each([
    [
      'a page of HTML',
      LONG_PAGE,
      `<html> <body>${'Access to this site is blocked. '.repeat(20)}`.slice(0, 200),
    ],
    ['an empty page', '', 'an empty page'],
    ['a document of another', '{"message":"Forbidden"}', '{"message":"Forbidden"}'],
    ['an XML document that is cut', '<ErrorResponse><Error><Code>Acc', '<ErrorResponse><Error><Code>Acc'],
    ['a JSON document that is cut', '{"__type":"Acc', '{"__type":"Acc'],
  ])('that is refused with %s shows its status and its beginning', async (_what, body, message) => {
    const { answer, tries } = await answered(service, { status: 403, body })

    expect(answer).toEqual({ refusal: { status: 403, code: 'status 403', message } })
    expect(tries).toBe(1)
  })
})

describe('a call', () => {
  it.each([
    [
      'cloudformation',
      '<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>',
      {},
    ],
    ['ssm', '{"__type":"com.amazonaws.ssm#AccessDenied","message":"no"}', {}],
    ['ssm', '{"message":"no"}', { 'x-amzn-errortype': 'AccessDenied:http://internal/' }],
  ] as const)('that %s itself refuses has its code and its sentence', async (service, body, headers) => {
    const { answer } = await answered(service, { status: 403, body, headers })

    expect(answer).toEqual({ refusal: { status: 403, code: 'AccessDenied', message: 'no' } })
  })

  it('is repeated while a proxy answers that the service is not there', async () => {
    const { answer, tries } = await answered('cloudformation', { status: 503, body: '<html>wait</html>' })

    expect(answer).toEqual({ refusal: { status: 503, code: 'status 503', message: '<html>wait</html>' } })
    expect(tries).toBe(4)
  }, 30_000)

  it('whose success cannot be read is unavailable, without the hint of the SDK', async () => {
    const cut = answered('ssm', { status: 200, body: '{"Parameter":' })

    await expect(cut).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/^GetParameter got an unreadable answer from ssm: .+$/),
    })
    await expect(cut).rejects.toThrow(/^(?!.*Deserialization)/s)
  })
})
