#!/bin/sh
echo made-by-a-command
