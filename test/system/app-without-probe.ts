import { App, RemovalPolicy, Stack } from 'aws-cdk-lib'
import { TaskSystem } from '../../infra/index.ts'

/** The system under test as it was before the probe's handler was deployed. */
const stack = new Stack(new App(), 'Baton')
const tasks = new TaskSystem(stack, 'Tasks', { removalPolicy: RemovalPolicy.DESTROY })

tasks.addHandler('WordCount', { entry: 'functions/tasks/word-count.ts' })
