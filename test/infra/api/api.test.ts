import { describe, expect, it } from 'vitest'
import { synthesise, targetOf } from '../synthesised.ts'

const stageOf = (props: Parameters<typeof synthesise>[0] = {}) => {
  const { ofType, json } = synthesise(props)
  return { stage: ofType('AWS::ApiGatewayV2::Stage')[0]!, api: ofType('AWS::ApiGatewayV2::Api')[0]!, json }
}

describe('The HTTP API', () => {
  it('accepts 2,000 requests per second and bursts of 2,000 by default', () => {
    const { stage } = stageOf()

    expect(stage.Properties).toMatchObject({
      StageName: '$default',
      AutoDeploy: true,
      DefaultRouteSettings: { ThrottlingRateLimit: 2_000, ThrottlingBurstLimit: 2_000 },
    })
    expect(stage.Properties.AccessLogSettings).toBeUndefined()
  })

  it('keeps the logical id of CDK’s own default stage', () => {
    expect(stageOf().stage.id).toMatch(/^TasksApiHttpDefaultStage[0-9A-F]{8}$/)
  })

  it('accepts as many requests as the app configures', () => {
    const { stage } = stageOf({ api: { throttle: { requestsPerSecond: 50, burst: 10 } } })

    expect(stage.Properties.DefaultRouteSettings).toEqual({
      ThrottlingRateLimit: 50,
      ThrottlingBurstLimit: 10,
    })
  })

  it.each([
    [true, 30],
    [{ retention: 7 }, 7],
  ] as const)('logs the caller and the request if the app asks for it: %j', (accessLog, days) => {
    const { stage, json } = stageOf({ api: { accessLog } })
    const { DestinationArn, Format } = stage.Properties.AccessLogSettings
    const group = json.Resources[targetOf(DestinationArn)!]!

    expect([group.Type, group.Properties.RetentionInDays]).toEqual(['AWS::Logs::LogGroup', days])
    expect(Object.keys(JSON.parse(Format))).toEqual(
      expect.arrayContaining(['requestId', 'caller', 'method', 'path', 'status', 'latencyMs']),
    )
  })

  it('may be called by web pages of the origins that the app names, and of no others', () => {
    const { api } = stageOf({ api: { cors: { origins: ['https://shop.example'] } } })

    expect(stageOf().api.Properties.CorsConfiguration).toBeUndefined()
    expect(api.Properties.CorsConfiguration).toMatchObject({
      AllowOrigins: ['https://shop.example'],
      AllowMethods: ['*'],
      AllowHeaders: expect.arrayContaining(['authorization', 'content-type']),
      ExposeHeaders: expect.arrayContaining(['retry-after']),
    })
  })

  it('answers the unsigned preflight of a browser', () => {
    const preflights = (props: Parameters<typeof synthesise>[0]) =>
      synthesise(props)
        .ofType('AWS::ApiGatewayV2::Route')
        .filter(({ Properties }) => Properties.RouteKey === 'OPTIONS /{proxy+}')
        .map(({ Properties }) => Properties.AuthorizationType)

    expect(preflights({})).toEqual([])
    expect(preflights({ api: { cors: { origins: ['https://shop.example'] } } })).toEqual(['NONE'])
  })
})

it('Both functions of the API know the base path of a custom domain', () => {
  const paths = synthesise({ api: { basePath: '/tasks/v2' } })
    .ofType('AWS::Lambda::Function')
    .map(({ Properties }) => Properties.Environment.Variables.BATON_BASE_PATH)
    .filter(path => path !== undefined)

  expect(paths).toEqual(['/tasks/v2', '/tasks/v2'])
  expect(() => synthesise({ api: { basePath: 'tasks/' } })).toThrow("give a path such as '/tasks'")
})
