"""Text, HTML and plots for people; JUnit for machines."""
