import { App, RemovalPolicy, Stack } from 'aws-cdk-lib'
import { TaskSystem } from './task-system.ts'

const app = new App()
const stack = new Stack(app, 'Baton', { description: 'Baton: a task system on DynamoDB, SQS and Lambda' })

/** `-c dev=true` deploys a system that leaves nothing behind when its stack is destroyed. */
const isDevelopment = String(app.node.tryGetContext('dev')) === 'true'

const tasks = new TaskSystem(stack, 'Tasks', {
  removalPolicy: isDevelopment ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN,
})

tasks.addHandler('WordCount', { entry: 'functions/tasks/word-count.ts' })
