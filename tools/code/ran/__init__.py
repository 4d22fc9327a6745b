"""What of the programs in a folder this run ran: by its settings, its launches and the words in its logs."""
